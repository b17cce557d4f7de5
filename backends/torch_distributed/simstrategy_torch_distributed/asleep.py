"""Ranks that sleep until another rank, or another thread of the same rank, does something: the run ends if none can."""

import sys
from collections.abc import Mapping
from typing import Final, final

from simstrategy.launch.server import Worker
from simstrategy_torch_distributed.matching import Matcher
from simstrategy_torch_distributed.stacks import place_in, stacks_of
from simstrategy_torch_distributed.threads_asleep import Waits, waits_of, woken

__all__ = ["Asleep"]

_ASLEEP_S: Final = 3.0
"""How long no thread may have been woken, and no rank may have called."""
_LOOK_S: Final = 0.5


@final
class Asleep:
    """Looks at the ranks of a run.  store: the process that holds its store, at `port`; None where the run has none."""

    __slots__ = ("_channels", "_looked_s", "_port", "_since_s", "_store", "_waits", "_workers")

    def __init__(self, workers: Mapping[int, Worker], store: Worker | None, port: int | None) -> None:
        self._workers = workers
        self._store = store
        self._port = port
        self._channels: dict[int, int] = {}
        self._waits: dict[int, Waits] = {}
        self._since_s = self._looked_s = 0.0

    def ready(self, rank: int, channel: int) -> None:
        """Takes the number of the socket on which a rank receives answers."""
        self._channels[rank] = channel

    def look(self, matcher: Matcher, now_s: float) -> None:
        """Ends the run if every rank that has not ended has slept for some seconds and none can go on; shows stacks."""
        if now_s - self._looked_s < _LOOK_S or matcher.finding is not None:
            return
        self._looked_s = now_s
        found = self._all_asleep(matcher.running)
        if not found or found != self._waits:
            self._waits, self._since_s = found, now_s
        elif now_s - max(self._since_s, matcher.moved_s) > _ASLEEP_S and matcher.stuck(found):
            stacks = {rank: stacks_of(self._workers[rank]) for rank in found}
            if any(self._waits_of(rank) is None for rank in found):
                return  # the signal that shows a stack has ended a wait
            for rank, text in stacks.items():
                sys.stderr.write(f"simstrategy: rank {rank} waits for {found[rank].what}. It is at:\n{text}")
            sys.stderr.flush()
            matcher.block({rank: f"waits for {one.what}{place_in(stacks[rank])}" for rank, one in found.items()})

    def _all_asleep(self, ranks: list[int]) -> dict[int, Waits]:
        """Returns what each of these ranks waits for; nothing if one is not asleep."""
        found = {}
        for rank in ranks:
            waits = self._waits_of(rank)
            if waits is None:
                return {}
            found[rank] = waits
        return found

    def _waits_of(self, rank: int) -> Waits | None:
        if rank not in self._channels or rank not in self._workers:
            return None
        found = waits_of(self._workers[rank].process, self._channels[rank], self._port)
        if found is None:
            return None
        return found if self._store is None else found._replace(marks=(*found.marks, *woken(self._store.process)))
