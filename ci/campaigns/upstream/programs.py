"""Programs of a campaign, and the file that runs many of them in one run."""

import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

__all__ = ["Library", "Program", "calls_of", "drawn", "file_of"]

HERE = Path(__file__).resolve().parent


class Program(NamedTuple):
    """One generated program.

    name: unique in its library, as in ``p00012``. subject: which part of the library it is about. title: what it does,
    in a line. body: the lines of a function that returns a value, a tuple or a dictionary of values.
    """

    name: str
    subject: str
    title: str
    body: str


class Library(NamedTuple):
    """What is tried of one library.

    name: of its file in files/, which begins a file of programs, and of its lists in calls.toml. front: a word of
    `front_….py`, by which a file runs, and of its end in ends/. replicas: the numbers of them; the first is the
    reference. parameters: of the function of a program. draw: makes subject, title and body from a generator. packages:
    whose versions are shown.
    """

    name: str
    front: str
    replicas: tuple[int, ...]
    parameters: str
    draw: Callable[[Random], tuple[str, str, str]]
    packages: tuple[str, ...]


def calls_of(name: str) -> dict[str, Any]:
    """Returns what calls.toml has of a library, by kind."""
    found: dict[str, Any] = tomllib.loads((HERE / "calls.toml").read_text(encoding="utf-8"))[name]
    return found


def drawn(library: Library, seed: int, first: int, count: int) -> list[Program]:
    """Returns programs by number, from `first` on; each depends on its number and the seed alone."""
    return [
        Program(f"p{number:05}", *library.draw(Random(f"{library.name}/{seed}/{number}")))
        for number in range(first, first + count)
    ]


def file_of(library: Library, programs: list[Program]) -> str:
    """Returns the text of a file that runs programs, one after the other."""
    begin, end = [HERE / "files" / f"{library.name}.py", HERE / "ends" / f"{library.front}.py"]
    parts = [begin.read_text(encoding="utf-8"), ""]
    for program in programs:
        body = textwrap.indent(program.body.strip(), "    ")
        parts += [f"def {program.name}({library.parameters}):", f'    """{program.title}."""', body, "", ""]
    names = ", ".join(f'"{program.name}": {program.name}' for program in programs)
    return "\n".join([*parts, f"PROGRAMS = {{{names}}}", "", "", end.read_text(encoding="utf-8")])
