"""The lines of a recording as they are made: their places in the order, the table of values, the draws."""

import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, final
from weakref import ref

import numpy as np

from simstrategy.trace.values import Host, Unreadable, describe, describe_whole, is_text

__all__ = ["WHOLE_BYTES", "WHOLE_TOTAL", "Chooser", "Leaf", "LineLog"]

Leaf = Host | Unreadable
"""A value on the host; an array that had none."""

WHOLE_BYTES: Final = 4096
WHOLE_TOTAL: Final = 1 << 20
_SMALL: Final = 256
_SEEN_MAX: Final = 64


class Chooser(Protocol):
    """A schedule; see `simstrategy.schedules`."""

    @property
    def name(self) -> str: ...
    def choose(self, label: str, n: int) -> int: ...


@final
class LineLog:
    """Gives each line to `put`, after the lines of the values that it refers to.

    whole_bytes: up to which size a value is kept whole; None for 4 KiB, until all of them have `WHOLE_TOTAL`, and then
    for `_SMALL`.
    """

    __slots__ = ("_known", "_put", "_schedules", "_seen", "_undrawn", "_whole_bytes", "_whole_left", "number")

    def __init__(self, put: Callable[[dict[str, Any]], None], whole_bytes: int | None) -> None:
        self._put = put
        self._whole_bytes = WHOLE_BYTES if whole_bytes is None else whole_bytes
        self._whole_left = WHOLE_TOTAL if whole_bytes is None else sys.maxsize
        self.number = 0
        """The next place in the order."""
        self._known: dict[Any, int] = {}
        """The number of each value of the table, by its dtype, shape and bytes."""
        self._seen: deque[tuple[Callable[[], Any], int]] = deque(maxlen=_SEEN_MAX)
        """The last large arrays that nothing can write to, and their numbers: a variable is read often."""
        self._undrawn: list[tuple[str, int, int]] = []
        """The draws since the last line."""
        self._schedules: list[_RecordedSchedule] = []

    def add(self, kind: str, line: dict[str, Any]) -> int:
        """Adds a line with a place in the order; returns the place."""
        number = self.number
        self.number += 1
        self.put({kind: number, **line})
        return number

    def put(self, line: dict[str, Any]) -> None:
        """Adds a line."""
        self.put_draws()
        self._put(line)

    def put_draws(self) -> None:
        """Adds a line for the draws since the last one."""
        if self._undrawn:
            self._put({"draws": [list(one) for one in self._undrawn]})
            self._undrawn.clear()

    def watched(self, schedule: Chooser) -> Chooser:
        """Returns a schedule that makes the same choices and whose draws are recorded; the same one for the same."""
        for one in self._schedules:
            if schedule is one or schedule is one.inner:
                return one
        self._schedules.append(_RecordedSchedule(schedule, self._undrawn))
        return self._schedules[-1]

    def rows(self, rows: Sequence[Sequence[Leaf]]) -> list[list[int]]:
        """Returns the numbers of the values of each replica."""
        found: list[list[int]] = []
        last: Leaf | None = None
        for row in rows:
            # Of replicas with one value each, which is often the same object.
            if len(row) != 1:
                found.append(self.row(row))
                last = None
            elif row[0] is last:
                found.append(found[-1])
            else:
                last = row[0]
                found.append([self.value(last)])
        return found

    def row(self, row: Sequence[Leaf]) -> list[int]:
        """Returns the numbers of values in the table."""
        if len(row) > 1 and all(leaf is row[0] for leaf in row):
            return [self.value(row[0])] * len(row)
        return [self.value(leaf) for leaf in row]

    def value(self, leaf: Leaf) -> int:
        """Returns the number of a value in the table; adds it where it is new."""
        if isinstance(leaf, Unreadable):
            return self._number(leaf, {"dtype": leaf.dtype, "shape": list(leaf.shape)})
        if leaf.nbytes <= self._whole_bytes and not is_text(leaf):
            data = leaf.tobytes()
            key = (leaf.dtype.num, leaf.shape, data)
            found = self._known.get(key)
            if found is not None:
                return found
            if len(data) <= max(self._whole_left, _SMALL):
                self._whole_left -= len(data)
                return self._number(key, describe_whole(leaf, data))
        for seen, number in self._seen:
            if seen() is leaf:
                return number
        line = describe(leaf.view(np.ndarray), self._whole_bytes)
        number = self._number((line["dtype"], leaf.shape, line.get("digest") or tuple(line["texts"])), line)
        if _is_frozen(leaf):
            self._seen.append((ref(leaf), number))
        return number

    def _number(self, key: Any, line: Mapping[str, Any]) -> int:
        """Returns the number of a value; adds its line where it is new."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = len(self._known)
            self._put({"value": found, **line})
        return found


def _is_frozen(array: Host) -> bool:
    """Returns whether an array is of a backend, and nothing can write to it."""
    if type(array) is np.ndarray or array.flags.writeable:
        return False
    base = array.base
    return base is None or (isinstance(base, np.ndarray) and not base.flags.writeable)


@final
class _RecordedSchedule:
    """A schedule whose draws are recorded."""

    __slots__ = ("_draws", "inner")

    def __init__(self, inner: Chooser, draws: list[tuple[str, int, int]]) -> None:
        self.inner = inner
        self._draws = draws

    @property
    def name(self) -> str:
        return self.inner.name

    def choose(self, label: str, n: int) -> int:
        taken = self.inner.choose(label, n)
        self._draws.append((label, n, taken))
        return taken
