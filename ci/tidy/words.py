"""Words that do not belong on main: hosts and folders, notes to oneself, and what docs/glossary.md refuses.

The glossary has a table under the heading "Words we do not use": a word as a regular expression in backticks, and what
to use instead. Words are looked for in whole lines, code and text alike, in any case. Names are taken apart first:
`two_words` and `TwoWords` hold both words.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ci.tidy.violation import Violation

GLOSSARY = "docs/glossary.md"
HEADING = "## Words we do not use"
# Folders and files in which the glossary's words are refused. In all others they are counted only.
ENFORCED = (
    "simstrategy",
    "backends/template",
    "backends/tensorflow/simstrategy_tensorflow",
    "backends/tf_distribute/simstrategy_tf_distribute",
    "backends/torch/simstrategy_torch",
    "backends/xla/simstrategy_xla",
    "property_tests/simstrategy_conformance",
    "property_tests/pytest_plugin",
    "property_tests/corpus",
    "course",
    "docs/testing_your_program.md",
    "examples",
    "docs/clusters.md",
    "docs/determinism.md",
    "docs/examples_of_backends.md",
    "docs/examples_of_checked_scripts.md",
    "docs/examples_of_checks.md",
    "docs/examples_of_clauses.md",
    "docs/examples_of_meshes.md",
    "docs/examples_of_script_faults.md",
    "docs/examples_of_scripts.md",
    "docs/examples_of_tensorflow.md",
    "docs/examples_of_tf_distribute.md",
    "docs/examples_of_waits_and_tests.md",
    "docs/howto",
    "docs/index.md",
    "docs/installing.md",
    "docs/judging.md",
    "docs/ledger.md",
    "docs/reference",
    "docs/semantics.md",
    "docs/writing_a_backend.md",
    "README.md",
    "CONTRIBUTING.md",
    "STYLE.md",
)
# What the words are counted in at all.
COUNTED = ("simstrategy", "backends", "property_tests", "docs", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")

# A registry's host, and folders of one person's machine.
BANNED_TEXT = re.compile(r"py" + r"pi\.org|(?<!\w)/(?:root|work)/\w", re.ASCII)
BANNED_IN_CODE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b", re.ASCII)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Word(NamedTuple):
    """One row of the glossary's table."""

    pattern: re.Pattern[str]
    instead: str


def check_text(file: str, text: str) -> Iterator[Violation]:
    """Checks any text file for words that do not belong on main."""
    for number, line in enumerate(text.splitlines(), 1):
        found = BANNED_TEXT.search(line) or (file.endswith(".py") and BANNED_IN_CODE.search(line))
        if found:
            yield Violation(file, number, f"{found.group()!r} does not belong on main")


def words_of(glossary: str) -> tuple[list[Word], list[Violation]]:
    """Returns the rows of the table of words, and what is wrong with it."""
    start = glossary.find(HEADING)
    if start < 0:
        return [], [Violation(GLOSSARY, 1, f"no part {HEADING!r}, the table of words that tidy refuses")]
    words, wrong = [], []
    first = glossary.count("\n", 0, start) + 1
    for number, line in enumerate(glossary[start:].splitlines()[1:], first + 1):
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)][1:-1]
        if not cells or not cells[0].startswith("`"):
            continue
        try:
            pattern = re.compile(cells[0].strip("`").replace(r"\|", "|"), re.IGNORECASE)
            words.append(Word(pattern, cells[1]))
        except (re.error, IndexError) as error:
            wrong.append(Violation(GLOSSARY, number, f"{line!r} is no row of the table of words: {error}"))
    if not words:
        wrong.append(Violation(GLOSSARY, first, "the table of words has no row with a word in backticks"))
    return words, wrong


def check_words(file: str, text: str, words: Sequence[Word]) -> Iterator[Violation]:
    """Checks a text for words of the table, wherever it stands."""
    for number, line in enumerate(text.splitlines(), 1):
        apart = _CAMEL.sub(" ", line.replace("_", " "))
        for word in words:
            found = word.pattern.search(line) or word.pattern.search(apart)
            if found:
                yield Violation(file, number, f"the word {found.group()!r}; use {word.instead} (see {GLOSSARY})")


def is_enforced(file: str) -> bool:
    """Returns whether a file may not have words of the table."""
    return file != GLOSSARY and _is_in(file, ENFORCED)


def is_counted(file: str) -> bool:
    """Returns whether words of the table are counted in a file."""
    return file != GLOSSARY and _is_in(file, COUNTED)


def _is_in(file: str, folders: Sequence[str]) -> bool:
    return any(file == folder or file.startswith(f"{folder}/") for folder in folders)


def tally(found: Sequence[Violation]) -> str:
    """Returns how often words of the table stand in each folder, the most first."""
    counts = Counter("/".join(one.file.split("/")[:2]) for one in found)
    return ", ".join(f"{folder} {count}" for folder, count in counts.most_common())
