"""The files of `check`: where its report goes besides the terminal.

They are written when the report is shown, whatever the verdict. A file that cannot be written is an error with the
reason, and the others are written all the same.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.check import Report
from simstrategy.check.formats import Played, as_json, as_junit, as_markdown, as_page
from simstrategy.cli.writing import written
from simstrategy.errors import InvalidArgument

__all__ = ["PAGE", "Output", "outputs_of", "write_outputs"]


class Output(NamedTuple):
    """One file.  option: how it was asked for. adds: to what is there."""

    option: str
    file: Path
    adds: bool


_FORMS: Final[Mapping[str, Callable[[Report], str]]] = {
    "--json": as_json,
    "--junit": as_junit,
    "--markdown": as_markdown,
}
PAGE: Final = "--html"
_ADDING: Final = frozenset({"--markdown"})
"""A summary of a CI job is one file for all commands of a step."""


def outputs_of(files: Mapping[str, Path | None]) -> list[Output]:
    """Returns the outputs that options name, with full paths: a program may change the current folder."""
    return [
        Output(option, Path(os.path.abspath(file)), option in _ADDING)
        for option, file in files.items()
        if file is not None
    ]


def write_outputs(report: Report, outputs: Sequence[Output], shown: Played) -> None:
    """Writes each file; shown: the runs of the page.

    Raises InvalidArgument that names all that could not be written, when the others are.
    """
    forms: dict[str, Callable[[Report], str]] = {**_FORMS, PAGE: partial(as_page, shown=shown)}
    found = [written(one.option, one.file, forms[one.option](report), adds=one.adds) for one in outputs]
    errors = [text for text in found if text is not None]
    if errors:
        raise InvalidArgument("\n".join(errors))
