"""Applies every rule to a repository, and takes out what the table of exceptions allows."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ci.tidy.clauses import C10D, C10D_KIT, GUIDE, KIT, LAW, check_clauses, check_kit, check_record
from ci.tidy.code import check_python
from ci.tidy.docstrings import check_docstrings
from ci.tidy.exceptions import EXCEPTIONS, Exempt
from ci.tidy.structure import check_structure
from ci.tidy.violation import Violation, is_test
from ci.tidy.words import GLOSSARY, check_text, check_words, is_counted, is_enforced, words_of

PYTHON_FOLDERS = ("simstrategy", "backends", "ci", "course", "examples", "property_tests", "tests")
TABLE = "ci/tidy/exceptions.py"
# They hold what they look for.
UNREAD = ("ci/tidy/", "tests/ci/test_tidy")


class Findings(NamedTuple):
    """What was found.  words: of the glossary's table, where they are only counted."""

    violations: list[Violation]
    words: list[Violation]


def check_repository(root: Path) -> Findings:
    """Returns every violation in a repository."""
    found: list[Violation] = []
    files = _files(root)
    for file, text in files.items():
        if file.endswith(".py"):
            tree = ast.parse(text)
            found += [*check_python(file, text), *check_structure(file, tree), *check_docstrings(file, tree)]
        if not file.startswith(UNREAD):
            found += check_text(file, text)
        if file.startswith("docs/decisions/"):
            found += check_record(file, text)
    found += _check_law(root, files)
    counted: list[Violation] = []
    if GLOSSARY in files:
        words, wrong = words_of(files[GLOSSARY])
        found += wrong
        for file, text in files.items():
            if is_enforced(file):
                found += check_words(file, text, words)
            elif is_counted(file):
                counted += check_words(file, text, words)
    return Findings(sort_out(found), counted)


def _files(root: Path) -> dict[str, str]:
    """Returns the text of each file that rules are for, by its name."""
    paths = [path for folder in PYTHON_FOLDERS for path in sorted((root / folder).rglob("*.py"))]
    paths += [*sorted((root / "docs").rglob("*.md")), *sorted(root.glob("*.md"))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def _check_law(root: Path, files: dict[str, str]) -> Iterator[Violation]:
    for page, guide, tests in ((LAW, GUIDE, KIT), (C10D, C10D, C10D_KIT)):
        law = files.get(page)
        if law is not None:
            yield from check_clauses(law, "\n".join(text for file, text in files.items() if is_test(file)), page)
            kit = {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in sorted(root.glob(tests))}
            yield from check_kit(law, files[guide], kit, page, guide)


def sort_out(found: Sequence[Violation], exceptions: Sequence[Exempt] = EXCEPTIONS) -> list[Violation]:
    """Returns the violations that no row allows.

    A row that is for more violations than it allows is for none. One that is for none at all is a violation.
    """
    by_row: dict[Exempt | None, list[Violation]] = {row: [] for row in exceptions}
    for one in found:
        by_row.setdefault(next((row for row in exceptions if row.allows(one.file, one.rule)), None), []).append(one)
    left = by_row.pop(None, [])
    for row, ones in by_row.items():
        if not ones:
            left.append(Violation(TABLE, 1, f"a row that allows nothing; take it out: {row.file}, {row.rule!r}"))
        elif len(ones) > row.most:
            left += ones
            left.append(Violation(TABLE, 1, f"{row.most} allowed, {len(ones)} found: {row.file}, {row.rule!r}"))
    return left
