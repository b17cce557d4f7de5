"""The text of an error of a program: what the program determines of it, in few lines.

XLA quotes instructions by numbers that depend on all others of the program, also on those that a record adds, and the
frames of Python that led to a callback. An error of another library stays as it is, but for addresses.
"""

import re
from collections.abc import Iterator
from typing import Final

import jax

from simstrategy.short_repr import error_text
from simstrategy_xla.mesh_check.lowering import is_of_program

__all__ = ["shown_text"]

_LINES_MAX: Final = 10
"""How many lines of an error's text are shown."""
_LAST: Final = 2
"""How many of them are its last ones, where lines are left out."""
_FRAME: Final = re.compile(r'  File "([^"]*)", line ')
_NUMBER: Final = "…"
_UNDETERMINED: Final = (
    (re.compile(r", metadata=\{[^{}]*\}"), ""),
    (re.compile(r"(?<![\w.])([A-Za-z_][\w-]*)((?:\.\d+|\.clone)+)(?![\w.])"), r"\1"),
    (re.compile(r"\b((?:\w+_)?id|RunId)(\s*[=:]\s*)-?\d+"), rf"\1\2{_NUMBER}"),
    (re.compile(r"\b0x[0-9A-Fa-f]+"), _NUMBER),
    (
        re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)?( ?(?:[mnuµ]?s|sec|seconds?|(?:milli|micro|nano)seconds?))\b"),
        rf"{_NUMBER}\1",
    ),
)
"""What a run determines, and what stands in its place: numbers of instructions and of runs, how
functions are called in them, addresses, durations."""


def shown_text(error: BaseException) -> str:
    """Returns the text of an error, the same in every run as far as the program determines it."""
    text = error_text(error)
    return _shortened(_determined(text) if isinstance(error, jax.errors.JaxRuntimeError) else text)


def _determined(text: str) -> str:
    r"""Returns a text of XLA without what differs from run to run, and without frames that are not the program's.

    >>> _determined("Unsupported: %region_0.1.clone (reduce.21: f32[]) stack_frame_id=4, after 1.25 s")
    'Unsupported: %region_0 (reduce: f32[]) stack_frame_id=…, after … s'
    >>> print(_determined('Traceback:\n  File "<frozen x>", line 8, in f\n  File "a.py", line 2, in g\n    h()\nE: no'))
    Traceback:
      File "a.py", line 2, in g
        h()
    E: no
    """
    text = "\n".join(_without_frames(text.splitlines()))
    for pattern, instead in _UNDETERMINED:
        text = pattern.sub(instead, text)
    return text


def _without_frames(lines: list[str]) -> Iterator[str]:
    """Yields the lines of a text without the frames of Python that are not the program's, and their source."""
    kept = True
    for line in lines:
        frame = _FRAME.match(line)
        kept = is_of_program(frame[1]) if frame else kept or not line.startswith("    ")
        if kept:
            yield line


def _shortened(text: str) -> str:
    r"""Returns the text of an error without lines in its middle, where it has many: JAX quotes whole arrays.

    >>> _shortened("\n".join(map(str, range(99)))).splitlines()[-3:]
    ['… (89 lines are left out)', '97', '98']
    """
    lines = text.splitlines()
    if len(lines) <= _LINES_MAX:
        return text
    first, last = lines[: _LINES_MAX - _LAST], lines[-_LAST:]
    return "\n".join([*first, f"… ({len(lines) - len(first) - len(last)} lines are left out)", *last])
