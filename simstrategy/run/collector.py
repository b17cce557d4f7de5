"""Fewer collections of young objects while very many tasks are suspended.

What a suspended task holds lives until its run ends. The garbage collector takes it for young and looks at it again and
again: of 10,000 replicas with one collective each that was a third of the time.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Final, final

__all__ = ["MANY", "collector"]

MANY: Final = 1000
"""So many tasks and more."""
_OBJECTS: Final = 16
"""More objects than a suspended task of one collective holds that the collector looks at: about ten and its results."""


@final
class Collector:
    """The threshold of young objects of this process, while runs of many tasks go on."""

    __slots__ = ("_before", "_lock", "_set", "_uses")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        """Taken again where the collector runs a destructor meanwhile that begins a run."""
        self._uses: dict[object, int] = {}
        """The numbers of tasks of the runs that go on."""
        self._before = self._set = gc.get_threshold()
        """What it was before the first of them; what was set last."""

    @contextmanager
    def patient(self, count: int) -> Iterator[None]:
        """Raises the threshold for a run of so many tasks; what the program itself sets meanwhile stays."""
        use = object()
        with self._lock:
            if not self._uses:
                self._before = self._set = gc.get_threshold()
            self._uses[use] = count
            self._apply()
        try:
            yield
        finally:
            with self._lock:
                del self._uses[use]
                self._apply()

    def _apply(self) -> None:
        young, *older = self._before
        if young and gc.get_threshold() == self._set:
            wanted = max(young, _OBJECTS * max(self._uses.values(), default=0))
            gc.set_threshold(wanted, *older)
            self._set = gc.get_threshold()


@lru_cache(maxsize=1)
def collector() -> Collector:
    """Returns the one of this process."""
    return Collector()
