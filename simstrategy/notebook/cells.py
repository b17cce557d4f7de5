"""An error in a notebook: its text and the lines of the cells that led to it, in a few lines.

IPython shows the whole traceback of an exception, most of which are frames of this project. An exception with a method
`_render_traceback_` shows what that returns. Source: `InteractiveShell.showtraceback` of IPython.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, Final

from simstrategy.short_repr import error_notes, error_text

__all__ = ["in_cells", "traceback_lines"]

_LINES_MAX: Final = 12
_FRAMES_MAX: Final = 3
_CHARACTERS_MAX: Final = 2000
"""Of one line."""
_ALL: Final = "All frames: import traceback; traceback.print_last()"
_OURS: Final = ("simstrategy", "IPython", "ipykernel")
"""How the names of modules begin whose frames are left out."""
_BEFORE: Final = r"(?:[^\s'\"]*[\\/])?(?<!\w)"
"""Before the name of a file in a text: its folder, or no letter."""

Labels = dict[str, int]
"""The number of each cell, by the name of its file."""


def traceback_lines(error: BaseException) -> list[str]:
    """Returns at most 12 lines: class and text of an error, its notes, and where the user's code is on its way.

    Files of cells are named by the cell: `cell 3, line 7`. Where there is more, what stands in the middle is left out.
    """
    lines_of = _known_files()
    labels = _cells([*lines_of.cache])
    text = "\n".join([f"{type(error).__name__}: {error_text(error)}", *error_notes(error)])
    lines = [line[:_CHARACTERS_MAX] for line in _with_cells(text, labels).splitlines()]
    frames = [*_frames(error, labels, lines_of.getline)][-_FRAMES_MAX:]
    most = _LINES_MAX - len(frames) - 1
    if len(lines) > most:
        lines = [*lines[: most - 1], f"… and {len(lines) - most + 1} more lines"]
    return [*lines, *frames, _ALL]


def in_cells(text: str) -> str:
    """Returns a text in which files of cells are named by the cell; the same text outside of IPython."""
    if "IPython" not in sys.modules:
        return text
    return _with_cells(text, _cells([*_known_files().cache]))


def _known_files() -> Any:
    """Returns the module that has the lines of the files that were read."""
    import linecache  # noqa: PLC0415 - its tokenizer costs time at every start, and only notebooks need it

    return linecache


def _cells(files: Sequence[str]) -> Labels:
    """Returns those of the files that are cells which have run; {} outside of IPython."""
    module = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    if shell is None:
        return {}
    named: Callable[[str], Any] = shell.compile.format_code_name
    found: Labels = {}
    for file in files:
        label = named(file)
        digits = re.search(r"\d+", label[1]) if label is not None and label[0] == "Cell" else None
        if digits is not None:
            found[file] = int(digits[0])
    return found


def _with_cells(text: str, labels: Labels) -> str:
    """Returns a text with cells in place of their files.

    >>> _with_cells("replica 1: all_reduce at 98684.py:7", {"/tmp/kernel/98684.py": 3})
    'replica 1: all_reduce at cell 3, line 7'
    >>> _with_cells("check of 98684.py: differ", {"/tmp/kernel/98684.py": 3})
    'check of cell 3: differ'
    """
    for file, number in labels.items():
        name = _BEFORE + re.escape(re.split(r"[\\/]", file)[-1])
        text = re.sub(rf"{name}:(\d+)", rf"cell {number}, line \1", text)
        text = re.sub(rf"{name}(?!\w|:\d)", f"cell {number}", text)
    return text


def _frames(error: BaseException, labels: Labels, line_of: Callable[[str, int], str]) -> Iterator[str]:
    """Yields the lines of the user's code in a traceback, the outermost first.  line_of: reads a line of a file."""
    traceback = error.__traceback__
    while traceback is not None:
        frame, line = traceback.tb_frame, traceback.tb_lineno
        if not _is_left_out(frame):
            file = frame.f_code.co_filename
            where = f"cell {labels[file]}, line {line}" if file in labels else f"{file}, line {line}"
            yield f"  {where}: {line_of(file, line).strip()}"[:_CHARACTERS_MAX]
        traceback = traceback.tb_next


def _is_left_out(frame: FrameType) -> bool:
    names: Sequence[str] = str(frame.f_globals.get("__name__", "")).split(".")
    return names[0].startswith(_OURS) or frame.f_code.co_filename.startswith("<")
