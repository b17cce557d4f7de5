"""Notices imports that do something else in each rank: by its variables, its generators, or threads of their own."""

import os
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, final

from simstrategy.launch.keeper import lost_in_a_fork
from simstrategy.run.frames import is_library
from simstrategy_torch_distributed.generators import GLOBAL

__all__ = ["Touched", "touched_by_imports", "untouched"]


class Touched(BaseException):
    """What is done depends on the process, or changes it.  No `except Exception` of a library takes it."""


@contextmanager
def untouched(names: Collection[str]) -> Iterator[None]:
    """Raises Touched where one of these variables is read meanwhile, or any is set; at its end, for the like.

    The like: numbers drawn from a global generator, and threads that were started and go on.
    """
    states = [one.state() for one in GLOBAL.values()]
    touched: list[str] = []

    def touch(name: str) -> None:
        touched.append(name)
        raise Touched(name)

    environment: Any = os.environ
    kind = type(environment)
    try:
        environment.__class__ = _noting(kind, names, touch)
        yield
    finally:
        environment.__class__ = kind
    if [one.state() for one in GLOBAL.values()] != states:
        touched.append("a global generator")
    touched += lost_in_a_fork()
    if touched:
        raise Touched(", ".join(touched))


def touched_by_imports(names: Collection[str]) -> list[str]:
    """Returns a list that gets variables that libraries read or set while they are imported, as of `untouched`."""
    touched: list[str] = []

    def touch(name: str) -> None:
        if any(frame.f_code.co_name == "<module>" and is_library(frame) for frame in _callers()):
            touched.append(name)

    environment: Any = os.environ
    environment.__class__ = _noting(type(environment), names, touch)
    return touched


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _noting(kind: Any, names: Collection[str], touch: Callable[[str], None]) -> Any:
    """Returns a class of `os.environ` that calls `touch` where one of these names is read, and where any is set.

    To go through all variables one by one, as a copy does, is to read none of them.
    """
    coming: deque[str] = deque()
    """What is read next if all are read in their order."""

    @final
    class Noting(kind):  # type: ignore[misc]  # the class that `os` has, under a private name
        def __iter__(self) -> Iterator[str]:
            found = list(kind.__iter__(self))
            coming.clear()
            coming.extend(found)
            return iter(found)

        def __getitem__(self, name: str) -> Any:
            if coming and coming[0] == name:
                coming.popleft()
            else:
                coming.clear()
                if name in names:
                    touch(name)
            return kind.__getitem__(self, name)

        def __setitem__(self, name: str, value: str) -> None:
            touch(name)
            kind.__setitem__(self, name, value)

        def __delitem__(self, name: str) -> None:
            touch(name)
            kind.__delitem__(self, name)

    return Noting
