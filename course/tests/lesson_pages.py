"""The code and the commands of a lesson's text, and its sentences."""

import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import typer
from typer.testing import CliRunner

from simstrategy.cli.app import add_command, app_for
from simstrategy_course.commands import grade, learn

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`(\w+\.py)`")
OURS = {"learn": learn, "grade": grade}
"""The commands of this distribution, which need not be installed."""


class Block(NamedTuple):
    """kind: of the block. name: of the file that the text before it names last; "" where there is none."""

    kind: str
    name: str
    text: str


class Shown(NamedTuple):
    """A command and the output that the text shows below it."""

    command: str
    output: str


def blocks(text: str) -> list[Block]:
    found = []
    for one in _BLOCK.finditer(text):
        names = _NAME.findall(text[: one.start()].rpartition("\n```\n")[2])
        found.append(Block(one[1], names[-1] if names else "", one[2]))
    return found


def shown(block: Block) -> Iterator[Shown]:
    for one in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        yield Shown(one[1], one[2])


def fits(output: str, expected: str) -> bool:
    """Returns whether an output is as shown, where … stands for anything, and spaces do not count."""
    parts = [re.escape(" ".join(part.split())).replace(r"\ ", " ?") for part in expected.split("…")]
    return re.search(" ?.*?".join(parts), " ".join(output.split()), re.DOTALL) is not None


def ran(command: str) -> str:
    """Runs a command of simstrategy in this process, in the current folder; returns what it prints, warnings too."""
    words = shlex.split(command)
    assert words[0] == "simstrategy", command
    app = app_for(words[1:]) if words[1] not in OURS else typer.Typer(add_completion=False)
    for name, function in OURS.items():
        add_command(app, name, function)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = CliRunner().invoke(app, words[1:], catch_exceptions=False)
    return result.output + "\n".join(f"{one.category.__name__}: {one.message}" for one in seen)


def save_programs(text: str, folder: Path) -> list[str]:
    """Writes the Python blocks of a lesson to their files; returns the names of those that need PyTorch."""
    with_torch = []
    for block in blocks(text):
        if block.kind == "python":
            assert block.name, block.text
            (folder / block.name).write_text(block.text, encoding="utf-8")
            with_torch += [block.name] if "import torch" in block.text else []
    return with_torch


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text, without code, tables' bars, headings and labels of choices."""
    plain = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    plain = re.sub(r"`[^`]*`", "code", plain)
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[|#*]|\d+\. )", plain):
        cells = paragraph.split("|") if paragraph.lstrip().startswith("|") else [paragraph]
        for cell in cells:
            words = re.sub(r"\*\*\w\*\*:|[*#>]", " ", re.sub(r"^\s*(\d+\.|\*) ", "", cell))
            found += [one for one in re.split(r"(?<=[.!?:])\s+", " ".join(words.split())) if len(one.split()) > 1]
    return found
