"""One group of ranks: the calls of its members that are not complete yet, in order."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

from simstrategy_torch_distributed.calls import ANY, Call, call_text, unlike
from simstrategy_torch_distributed.findings import Finding, sizes_differ

__all__ = ["Group", "Pair", "addressed", "splits_differ"]


class Pair(NamedTuple):
    """A send and the receive that takes it; members by their numbers in the group."""

    source: int
    send: Call
    target: int
    receive: Call


@final
class Group:
    """Calls wait here until every member, or both sides, have made theirs."""

    __slots__ = ("_arrived", "_called", "_queues", "_receives", "_sends", "differs_since", "name", "ranks")

    def __init__(self, name: str, ranks: tuple[int, ...]) -> None:
        self.name = name
        """Empty for the group of all ranks."""
        self.ranks = ranks
        self.differs_since: float | None = None
        """When the first calls of two members were seen to differ, in seconds of a monotonic clock."""
        self._queues: list[deque[Call]] = [deque() for _ in ranks]
        self._called = [0] * len(ranks)
        """How many collective calls each member has made."""
        self._arrived = 0
        """How many members have a call in their queue."""
        self._sends: dict[tuple[int, int, int], deque[Call]] = {}
        self._receives: dict[tuple[int, int, int], deque[Call]] = {}

    def add(self, member: int, call: Call) -> bool:
        """Adds a collective call; returns whether all members have made one now."""
        queue = self._queues[member]
        self._called[member] += 1
        queue.append(call)
        if len(queue) == 1:
            self._arrived += 1
        return self._arrived == len(self.ranks)

    def take(self) -> list[Call]:
        """Removes and returns the first call of each member, in their order."""
        calls = [queue.popleft() for queue in self._queues]
        self._arrived = sum(1 for queue in self._queues if queue)
        return calls

    def heads(self) -> list[Call | None]:
        """Returns the first call of each member, None where there is none."""
        return [queue[0] if queue else None for queue in self._queues]

    @property
    def complete(self) -> bool:
        """Whether every member has made a call."""
        return self._arrived == len(self.ranks)

    @property
    def differs(self) -> bool:
        """Whether the first calls of two members are not one collective call."""
        found = [head for head in self.heads() if head is not None]
        return any(unlike(found[0], other) for other in found[1:])

    def missing(self, member: int, call: Call) -> set[int]:
        """Returns the ranks without whose call a member's call is not complete."""
        if call.peer is not None:
            return (
                {rank for rank in self.ranks if rank != self.ranks[member]}
                if call.peer == ANY
                else {self.ranks[call.peer]}
            )
        position = self._called[member] - len(self._queues[member]) + self._queues[member].index(call)
        return {rank for rank, called in zip(self.ranks, self._called, strict=True) if called <= position}

    def ways(self, member: int, call: Call) -> list[set[int]]:
        """Returns the sets of ranks with whose calls a member's call is complete: one set is enough."""
        if call.peer != ANY:
            return [self.missing(member, call)]
        if any(key == (ANY, member, call.tag) for key, _ in self.any_source()):
            return [set()]
        return [{rank} for rank in sorted(self.missing(member, call))]

    def pair(self, member: int, call: Call) -> Pair | None:
        """Adds a send or receive; returns it with its other side if that is there."""
        assert call.peer is not None
        if call.kind == "send":
            own, other, key = self._sends, self._receives, (member, call.peer, call.tag)
        else:
            own, other, key = self._receives, self._sends, (call.peer, member, call.tag)
        found = other.get(key)
        if call.peer == ANY or not found:
            own.setdefault(key, deque()).append(call)
            return None
        taken = found.popleft()
        return Pair(key[0], call, key[1], taken) if call.kind == "send" else Pair(key[0], taken, key[1], call)

    def any_source(self) -> Iterator[tuple[tuple[int, int, int], list[int]]]:
        """Yields each receive from any rank that a send could complete: its key, and the members that send."""
        for key, receives in list(self._receives.items()):
            if key[0] == ANY and receives:
                sources = [
                    source
                    for source, target, tag in self._sends
                    if (target, tag) == key[1:] and self._sends[source, target, tag]
                ]
                if sources:
                    yield key, sorted(sources)

    def pair_from(self, key: tuple[int, int, int], source: int) -> Pair:
        """Removes and returns a receive from any rank with the first send of a member."""
        _, target, tag = key
        return Pair(source, self._sends[source, target, tag].popleft(), target, self._receives[key].popleft())


def splits_differ(group: Group, calls: Sequence[Call]) -> Finding | None:
    """Returns a finding where a member sends another one more or fewer elements than that one expects."""
    for sender, call in enumerate(calls):
        if not call.sizes[0]:
            continue
        for receiver, other in enumerate(calls):
            sent, expected = call.sizes[0][receiver], other.sizes[1][sender]
            if sent != expected:
                ranks = group.ranks
                lines = [f"rank {rank}: {call_text(one)}" for rank, one in zip(ranks, calls, strict=True)]
                what = (
                    f"Rank {ranks[sender]} sends {sent} elements to rank {ranks[receiver]}, which expects {expected}."
                )
                return sizes_differ(lines, what)
    return None


def addressed(parts: Sequence[int], member: int, members: int) -> list[int]:
    """Returns where a block begins, and where its parts for one member are.  parts: those for all members, in order."""
    each = (len(parts) - 1) // members
    return [*parts[:1], *parts[1 + member * each : 1 + (member + 1) * each]]
