"""The programs by which the judge is judged, each with its row of `table.toml` and the lines that its source marks."""

import functools
import shutil
import tomllib
from pathlib import Path
from typing import NamedTuple

from measured import Program

from simstrategy.check.programs import load_program

__all__ = ["Lawful", "Wrong", "lawful", "repaired", "wrong"]

FOLDER = Path(__file__).parent


class Wrong(NamedTuple):
    """A program whose results depend on the number of replicas; its fields are described in `table.toml`.

    places: file names and lines of the mistake, and of the synchronisation points where it first shows.
    """

    name: str
    file: Path
    kinds: list[str]
    counts: list[int]
    steps: list[int]
    variables: list[str]
    observed: str = ""
    files: tuple[str, ...] = ()

    @property
    def program(self) -> Program:
        return load_program(self.file)

    @property
    def sources(self) -> list[Path]:
        """The files of the program."""
        return [self.file, *(self.file.parent / name for name in self.files)]

    @property
    def places(self) -> set[tuple[str, int]]:
        return {(one.name, line) for one in self.sources for line in marked_lines(one.read_text(encoding="utf-8"))}


class Lawful(NamedTuple):
    """A program whose results do not depend on the number of replicas."""

    name: str
    file: Path
    verdicts: list[str]
    suspicious: str = ""
    rounding: float = 2e-6
    left_out: tuple[str, ...] = ()

    @property
    def program(self) -> Program:
        return load_program(self.file)


@functools.cache
def _table() -> dict[str, dict[str, dict]]:
    return tomllib.loads((FOLDER / "table.toml").read_text(encoding="utf-8"))


def wrong() -> list[Wrong]:
    """Returns the wrong programs in the table's order."""
    return [
        Wrong(name, file, **row)
        for name, row in _table()["wrong"].items()
        for file in [FOLDER / "wrong" / f"{name}.py"]
    ]


def lawful() -> list[Lawful]:
    """Returns the lawful programs in the table's order."""
    return [Lawful(name, FOLDER / "lawful" / f"{name}.py", **row) for name, row in _table()["lawful"].items()]


def repaired(row: Wrong, folder: Path) -> Path:
    """Writes a wrong program, with what `repairs.toml` has in place of its mistake, to a folder; returns the file.

    Raises ValueError for a text that does not stand in the source exactly once.
    """
    text = row.file.read_text(encoding="utf-8")
    for old, new in tomllib.loads((FOLDER / "repairs.toml").read_text(encoding="utf-8"))[row.name]["repairs"]:
        if text.count(old) != 1:
            raise ValueError(f"{row.name}: {old!r} stands {text.count(old)} times in it, and not once.")
        text = text.replace(old, new)
    if "shared_code" in text:
        shutil.copytree(FOLDER / "wrong" / "shared_code", folder / "shared_code", dirs_exist_ok=True)
    file = folder / f"repaired_{row.name}.py"
    file.write_text(text, encoding="utf-8")
    return file


def marked_lines(text: str) -> list[int]:
    """Returns the lines, from 1, with a mark; the line below a mark that stands alone."""
    lines = text.splitlines()
    marked = [number for number, line in enumerate(lines) if "# wrong:" in line or "# shows" in line]
    return [number + 2 if lines[number].lstrip().startswith("#") else number + 1 for number in marked]
