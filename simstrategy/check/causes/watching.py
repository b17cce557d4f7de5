"""Records the named values of replica functions while a program runs: what stood in which variable at which line.

Operators of arrays pass no wrapper, but their results get names. The lines of the user's files are traced by Python
(`sys.settrace`), in the thread that runs the program; another tracer, such as a debugger's, is put back afterwards.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from types import FrameType
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.check.causes.facts import Host
from simstrategy.run.frames import is_users

__all__ = ["NamedValue", "Watch", "drawn_in"]

_BYTES_MAX: Final = 1 << 20
"""The largest value that is kept."""

_TOTAL_BYTES_MAX: Final = 256 << 20
"""How much is kept of one run; later values are not."""

Position = Callable[[], tuple[int, int]]
"""Returns the number of the step, and how many points and writes came before."""


Replica = Callable[[], int | None]
"""Returns the number of the replica that runs in this thread; None outside of replica functions."""


class NamedValue(NamedTuple):
    """A value that a replica function gave a name.

    number: how many points and writes came before it. site: file and line of the statement. value: [any shape].
    taken: whether it is a part of another array, so that its rows show which ones were taken, and no other value.
    given: whether it is what a replica function receives, where that is known of any value. drawn: whether random
    numbers enter it, as far as the program's code shows; None where it does not.
    """

    step: int
    number: int
    replica: int
    site: str
    name: str
    value: Host
    taken: bool = False
    given: bool = False
    drawn: bool | None = None


def drawn_in(values: Sequence[NamedValue]) -> dict[tuple[str, str], bool | None]:
    """Returns whether random numbers enter any value of a name at a line; None where it is not known of all."""
    found: dict[tuple[str, str], bool | None] = {}
    for one in values:
        key = one.site, one.name
        before = found.get(key, False)
        found[key] = True if before or one.drawn else None if None in (before, one.drawn) else False
    return found


class _Seen:
    """What was last seen in one frame."""

    __slots__ = ("line", "objects")

    def __init__(self, line: int) -> None:
        self.line = line
        self.objects: dict[str, Any] = {}


@final
class Watch:
    """Collects named values.  values: in the order of the statements; the replicas take turns.

    get: returns an array of `array_types` on the host.
    """

    __slots__ = ("_bytes", "_frames", "_get", "_position", "_replica", "_types", "values")

    def __init__(
        self, position: Position, get: Callable[[Any], Host], array_types: tuple[type, ...], replica: Replica
    ) -> None:
        self.values: list[NamedValue] = []
        self._position = position
        self._get = get
        self._replica = replica
        self._types = (*array_types, np.ndarray, np.generic, float)
        self._frames: dict[FrameType, _Seen] = {}
        self._bytes = 0

    @contextmanager
    def on(self) -> Iterator[None]:
        """Collects inside this context."""
        before = sys.gettrace()
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """Begins to trace a function of the user's, where a replica runs it; other functions are not traced."""
        replica = self._replica() if is_users(frame) else None
        if replica is None or self._bytes > _TOTAL_BYTES_MAX:
            return None
        self._frames[frame] = _Seen(frame.f_lineno)
        return self._step

    def _step(self, frame: FrameType, event: str, argument: object) -> Any:
        """Notes the names that the statement before has set."""
        seen = self._frames.get(frame)
        replica = self._replica()
        if seen is None or replica is None:
            return None
        for name, value in frame.f_locals.items():
            if isinstance(value, self._types) and seen.objects.get(name) is not value:
                seen.objects[name] = value
                self._note(frame, seen.line, name, value, replica)
        seen.line = frame.f_lineno
        if event == "return":
            self._frames.pop(frame, None)
            if isinstance(argument, self._types):
                self._note(frame, frame.f_lineno, f"{frame.f_code.co_name}()", argument, replica)
        return self._step

    def _note(self, frame: FrameType, line: int, name: str, value: Any, replica: int) -> None:
        host = np.array(value if isinstance(value, (np.ndarray, np.generic, float)) else self._get(value))
        if host.nbytes > _BYTES_MAX or host.dtype.kind not in "biuf":
            return
        self._bytes += host.nbytes
        step, number = self._position()
        site = f"{PurePath(frame.f_code.co_filename).name}:{line}"
        self.values.append(NamedValue(step, number, replica, site, name, host))
