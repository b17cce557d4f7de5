"""The completed calls of a run, in an order that does not depend on time, as a trace of the core."""

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, final

from simstrategy.trace import Trace
from simstrategy_torch_distributed.calls import JOINS, Call, request_of

__all__ = ["Record"]

_WITHOUT_VALUES: Final = JOINS | {"barrier"}


@final
class Record:
    """Collects completed calls; `trace` puts them in order."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: list[list[tuple[int, Call]]] = []

    def add(self, calls: Sequence[tuple[int, Call]]) -> None:
        """Adds one completed call: the call of each rank that took part."""
        self._calls.append(list(calls))

    def calls_of(self, rank: int) -> list[Call]:
        """Returns the completed calls of a rank, in the order in which it made them."""
        found = [call for calls in self._calls for of, call in calls if of == rank]
        return sorted(found, key=lambda call: call.number)

    def together(self) -> dict[tuple[int, int], tuple[int, frozenset[int]]]:
        """Returns for each rank and the number of its completed call a number of the whole call, and its ranks."""
        return {
            (rank, call.number): (place, frozenset(of for of, _ in calls))
            for place, calls in enumerate(self._calls)
            for rank, call in calls
        }

    @property
    def is_joint(self) -> bool:
        """Whether a call of several ranks has exchanged values: groups and barriers have none."""
        return any(len(calls) > 1 and calls[0][1].kind not in _WITHOUT_VALUES for calls in self._calls)

    def __len__(self) -> int:
        return len(self._calls)

    def trace(self, root: str) -> Trace:
        """Returns a trace: each rank's calls in its order; of calls without an order, that of the lowest ranks first.

        root: the folder of the program.
        """
        behind: dict[int, list[int]] = {}  # a rank's calls, by their position here
        for position, calls in enumerate(self._calls):
            for rank, _ in calls:
                behind.setdefault(rank, []).append(position)
        waits = [len(calls) for calls in self._calls]
        following: list[list[int]] = [[] for _ in self._calls]
        for rank, positions in behind.items():
            positions.sort(key=lambda position, rank=rank: dict(self._calls[position])[rank].number)  # type: ignore[misc]
            waits[positions[0]] -= 1
            for one, after in pairwise(positions):
                following[one].append(after)
        trace = Trace(root=root)
        ready = [(self._key(position), position) for position, count in enumerate(waits) if not count]
        heapq.heapify(ready)
        left = dict.fromkeys(sorted(range(len(self._calls)), key=self._key))
        while left:
            # Ranks may begin calls of several groups in different orders: then none of these comes first.
            position = heapq.heappop(ready)[1] if ready else next(iter(left))
            if left.pop(position, position) is not None:
                continue
            calls = self._calls[position]
            for rank, call in calls:
                trace.record(0, request_of(call), [rank], [(call.site[0], call.site[1])])
            for after in following[position]:
                waits[after] -= 1
                if not waits[after]:
                    heapq.heappush(ready, (self._key(after), after))
        return trace

    def _key(self, position: int) -> tuple[tuple[int, int], ...]:
        return tuple((rank, call.number) for rank, call in self._calls[position])
