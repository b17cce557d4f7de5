"""The scripts of `scripts/`, the rows of `mistakes.toml`, and what a run of one comes to.

Lawful and suspicious scripts are right where they print what gloo prints; suspicious ones look wrong. It runs nothing:
`two_sides.py` does.
"""

import hashlib
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SCRIPTS = Path(__file__).parent / "scripts"
LAWFUL = ("lawful", "suspicious")
SECONDS_AT_ONCE = 5.0


class Script(NamedTuple):
    """A script and what its first comments state.

    They are `# ranks: 4`, and where needed `# arguments: --rate 2`, `# run as: module`, `# lines: any order`.
    """

    file: Path
    ranks: int
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    is_ordered: bool = True

    @property
    def name(self) -> str:
        return self.file.stem

    @property
    def folder(self) -> str:
        return self.file.parent.name

    @property
    def digest(self) -> str:
        """The first digits of the source's SHA-256: a recorded answer holds for this source alone."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()[:16]


class Mistake(NamedTuple):
    """A row of `mistakes.toml`, whose head describes the fields. lines: the line of each rank's place, by rank."""

    script: Script
    end: str
    names: tuple[str, ...]
    lines: Mapping[int, int]
    right: tuple[str, ...] = ()


class Run(NamedTuple):
    """How a script ended.

    code: None where it was ended at the limit. seconds: since the start. after: seconds since its first output.
    """

    code: int | None
    lines: tuple[str, ...]
    text: str
    seconds: float
    after: float


def script_of(file: Path) -> Script:
    """Reads the comments at the head of a script."""
    head = dict(re.findall(r"^# (ranks|arguments|run as|lines): (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE))
    arguments = tuple(shlex.split(head.get("arguments", "")))
    return Script(file, int(head["ranks"]), arguments, "run as" in head, head.get("lines") != "any order")


def scripts(folder: str) -> list[Script]:
    """Returns the scripts of a folder, by name; files without `# ranks:` are imported by others."""
    files = sorted((SCRIPTS / folder).glob("*.py"))
    return [script_of(file) for file in files if file.read_text(encoding="utf-8").startswith("# ranks:")]


def marked(file: Path) -> dict[int, int]:
    """Returns the line of each comment `# here N`, by N."""
    source = file.read_text(encoding="utf-8").splitlines()
    return {int(found[1]): line for line, text in enumerate(source, 1) if (found := re.search(r"# here (\d+)$", text))}


def mistakes() -> list[Mistake]:
    """Returns the mistakes in the table's order."""
    table = tomllib.loads((SCRIPTS / "mistakes.toml").read_text(encoding="utf-8"))
    return [_mistake(script_of(SCRIPTS / "mistakes" / f"{name}.py"), row) for name, row in table.items()]


def _mistake(script: Script, row: Mapping[str, object]) -> Mistake:
    places = marked(script.file)
    lines = {int(rank): places[number] for rank, number in row["places"].items()}
    return Mistake(script, row["end"], tuple(row["names"]), lines, tuple(row.get("right", ())))


def printed(script: Script, lines: Sequence[str]) -> list[str]:
    """Returns the lines of a run in an order that can be compared."""
    return list(lines) if script.is_ordered else sorted(lines)


def ranks_in(line: str) -> set[int]:
    """Returns the ranks that a line of an error names: "rank 1", "[rank1]", "ranks 1, 2 and 4", "ranks 1-3"."""
    found: set[int] = set()
    for text in re.findall(r"\branks?[ :]?(\d+(?:(?:, and |, | and | to |-|–)\d+)*)", line, re.IGNORECASE):
        for first, last in re.findall(r"(\d+)(?:(?: to |-|–)(\d+))?", text):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def named(mistake: Mistake, text: str) -> set[int]:
    """Returns the ranks whose place a text has, in a line with the rank or below one, as tracebacks stand."""
    found: set[int] = set()
    ranks: set[int] = set()
    place = re.compile(rf"\b{mistake.script.name}\.py(?::|\", line |, line | line )(\d+)\b")
    for line in text.splitlines():
        ranks = set(mistake.lines) if mistake.end == "refused" else ranks_in(line) or ranks
        places = {int(one) for one in place.findall(line)}
        found |= {rank for rank in ranks if mistake.lines.get(rank) in places}
    return found


def verdict(mistake: Mistake, one: Run) -> str:
    """Returns how a mistake ended.

    It is one of: named at once, named late, named but not ended, not named, hang, wrong number, silent. At once is
    within five seconds of the first output; on a machine that is busy, within the time that the start took.
    """
    places = named(mistake, one.text)
    has_names = all(re.search(name, one.text, re.IGNORECASE) for name in mistake.names)
    is_named = has_names and (places or not mistake.lines)
    if one.code is None:
        return "named but not ended" if is_named else "hang"
    if one.code == 0 and not (mistake.end == "warned" and is_named):
        results = [line for line in one.lines if line.startswith("result")]
        return "silent" if results == list(mistake.right) else "wrong number"
    if not is_named:
        return "not named"
    return "named at once" if one.after < max(SECONDS_AT_ONCE, one.seconds - one.after) else "named late"
