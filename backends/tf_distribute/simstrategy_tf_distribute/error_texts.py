"""The text of an error under tf.distribute as a report shows it, and the user's line that it is about.

TensorFlow writes stacks into the texts of errors of traced functions, with its own frames, Python's and this package's.
The lines of the user's files alone stay. No error is changed here.
"""

import os
import re
from collections.abc import Iterable
from typing import Final

import keras  # type: ignore[import-untyped]
import tensorflow as tf

import simstrategy
from simstrategy.run import raised_where
from simstrategy.run.frames import is_library, is_users_file, places_of
from simstrategy.short_repr import error_text
from simstrategy_tf_distribute.lines import Site

__all__ = ["shown_error", "where_raised"]

_GENERATED: Final = "__autograph_generated_file"
_LIBRARIES: Final = tuple([os.path.dirname(str(one.__file__)) + os.sep for one in (tf, keras, simstrategy)])
_FOLDERS: Final = (*_LIBRARIES, os.path.dirname(__file__) + os.sep)
_FRAME: Final = re.compile(r'(\s*)File "([^"]+)", line (\d+)(, in .*?)?\s*\**$')
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_NODE: Final = "Detected at node"
_NUMBERED: Final = ("{{node", "__inference_", "FuncGraph(")
"""What texts have that name functions, resources or graphs of TensorFlow, which numbers them and never starts again."""


def shown_error(error: BaseException) -> str:
    """Returns an error's text without colours, frames of libraries, and numbers that TensorFlow goes on counting."""
    text = _COLOUR.sub("", error_text(error))
    is_numbered = isinstance(error, tf.errors.OpError) or any(sign in text for sign in _NUMBERED)
    return "\n".join(_users_lines(text.splitlines(), is_numbered=is_numbered))


def where_raised(error: BaseException) -> str:
    """Returns an error's type, and the user's line that its text or its traceback ends with."""
    return raised_where(error, with_text=False, site=_stated(error_text(error)) or _traced_back(error))


def _users_lines(lines: Iterable[str], *, is_numbered: bool) -> list[str]:
    """Returns the lines of a text without the frames of libraries.  Files are named as in other lines of a report."""
    kept: list[str] = []
    is_dropped = False
    for line in lines:
        frame = _FRAME.match(line)
        if frame is not None:
            is_dropped = not _is_users(frame[2])
            if not is_dropped:
                kept.append(f'{frame[1]}File "{os.path.basename(frame[2])}", line {frame[3]}{frame[4] or ""}')
        elif not line.strip():
            if not is_dropped:
                kept.append("")
            is_dropped = False
        elif not is_dropped:
            kept.append(re.sub(r"\bid=\d+", "id=N", re.sub(r"([_/])\d+\b", r"\1N", line)) if is_numbered else line)
    return kept


def _stated(text: str) -> Site | None:
    """Returns the last line of the user's in the first stack that a text has; None where it has none."""
    found = None
    for number, part in enumerate(text.split(_NODE)):
        frames = [frame for line in part.splitlines() if (frame := _FRAME.match(line)) is not None]
        sites = [(frame[2], int(frame[3])) for frame in frames if _is_users(frame[2])]
        found = sites[-1] if sites else found
        if found is not None and number:
            break
    return found


def _traced_back(error: BaseException) -> Site | None:
    """Returns the last line of the user's in a traceback, without those that AutoGraph has generated."""
    places = [(frame.f_code.co_filename, line) for frame, line in places_of(error) if not is_library(frame)]
    users = [place for place in places if _is_users(place[0])]
    return users[-1] if users else None


def _is_users(file: str) -> bool:
    return _GENERATED not in file and not file.startswith(_FOLDERS) and is_users_file(file)
