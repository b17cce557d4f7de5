"""Matches the calls of all ranks: compares them, completes them, and finds ranks that can never continue.

It is given messages and a clock, and makes answers; it reads no file and no clock itself.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.errors import PeerFailed
from simstrategy.schedules import Schedule
from simstrategy_torch_distributed.calls import ADDRESSED, JOINS, Call, call_text, shapes_differ, unlike
from simstrategy_torch_distributed.findings import (
    Finding,
    asleep,
    blocked,
    disagreed,
    failed,
    overdue,
    sizes_differ,
    stopped,
)
from simstrategy_torch_distributed.groups import Group, Pair, addressed, splits_differ
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.waits import stuck

__all__ = ["Matcher"]

_DIFFERENT_S: Final = 1.0
"""How long two different first calls wait for those of the other members, whose lines the message then has."""
_FAILED_S: Final = 1.0
"""How long a rank that has failed waits for those that still compute, which might fail too."""
_REMARKS_MAX: Final = 100
_THREADS_S: Final = 3.0
"""How long all ranks must have been silent if one that waits has other threads, which might call too."""


@final
class Matcher:
    """The calls of one run.  `outgoing` has the answers: rank and message.  `finding`: what is wrong, once found.

    ends_all: whether a rank that fails ends the run, as under torchrun; else it does when another one waits for it.
    The others go on until they wait or end, for a second at most: of several ranks that fail, the same one is named.
    """

    def __init__(self, ranks: int, schedule: Schedule, record: Record | None, *, ends_all: bool = True) -> None:
        self.outgoing: list[tuple[int, list[Any]]] = []
        self.finding: Finding | None = None
        self.failed: int | None = None
        """The lowest rank that failed by itself before the finding was made."""
        self._failed_since: float | None = None
        self.remarks: list[str] = []
        self._ends_all = ends_all
        self._schedule = schedule
        self._record = record
        self._groups: list[Group] = []
        self._by_name: dict[tuple[str, int], int] = {}
        self._joins: list[dict[str, int]] = [{} for _ in range(ranks)]
        self._open: list[dict[int, tuple[Group, int, Call]]] = [{} for _ in range(ranks)]
        """For each rank its calls that are not complete: group, member, call; by number."""
        self._waiting: list[set[int]] = [set() for _ in range(ranks)]
        """For each rank the numbers of the calls that it waits in."""
        self._threads = [1] * ranks
        self._ended: dict[int, str] = {}
        self._moved_s = [0.0] * ranks
        """When each rank has sent its last message."""
        self.busy_then: set[int] = set()
        """The ranks that neither waited nor had ended when the finding was made."""
        self.stopped: int | None = None
        """The rank that a signal has stopped, where that ended the run."""
        self.open_then: dict[int, Call] = {}
        """The first call of each rank that was not complete when the finding was made."""

    def receive(self, rank: int, message: Sequence[Any], now_s: float) -> None:
        """Takes a message of a rank: a call, that it waits in one, or how it ended."""
        self._moved_s[rank] = now_s
        what = message[0]
        if what == "call":
            self._threads[rank] = message[1]
            if self.finding is None:
                self._called(rank, Call(*message[2:]), now_s)
        elif what == "wait":
            self._threads[rank] = message[1]
            if message[2] in self._open[rank]:
                self._waiting[rank].add(message[2])
        elif what == "waited":
            self._waiting[rank].discard(message[1])
        elif what == "ended":
            self.end(rank, message[1], message[2])

    def end(self, rank: int, code: int, text: str) -> None:
        """Notes that a rank has ended.  text: how, for people; code: its exit code."""
        if rank in self._ended:
            return
        self._ended[rank] = text
        self._waiting[rank].clear()
        if code and self.finding is None:
            self.failed = rank if self.failed is None else min(rank, self.failed)
        elif code and self.failed is not None and rank in self.busy_then and not text.startswith(PeerFailed.__name__):
            assert self.finding is not None
            lines = [*self.finding.lines]
            lines[rank] = f"rank {rank}: {text}"
            self.finding = failed(lines, self.failed)

    def stop(self, rank: int) -> None:
        """Ends the run, of which a signal has stopped this rank."""
        if self.finding is None:
            self.stopped = rank
            self._fail(stopped(self._lines(), rank))

    @property
    def idle(self) -> bool:
        """Whether every rank waits or has ended."""
        return all(waits or rank in self._ended for rank, waits in enumerate(self._waiting))

    def block(self, texts: Mapping[int, str]) -> None:
        """Ends the run, of which all ranks wait: these outside of calls, as the texts state."""
        found, missing = {}, set[int]()
        for rank, text in texts.items():
            open_calls = list(self._open[rank].values())[:1]
            missing |= {one for group, member, call in open_calls for one in group.missing(member, call)}
            lacks = [f"{call_text(one[2])}, which lacks {self._missing(*one)}" for one in open_calls]
            found[rank] = "; not complete is ".join([text, *lacks])
        self._fail(asleep(self._lines(found), lacks_ended=not missing.isdisjoint(self._ended)))

    def exceed(self, rank: int, limit_s: float, place: str) -> None:
        """Ends the run, of which this rank has been silent for `limit_s` seconds.  place: where it is."""
        if self.finding is None:
            self._fail(overdue(self._lines({rank: f"neither waits nor has ended{place}"}), rank, limit_s))

    @property
    def moved_s(self) -> float:
        """When the last message has come."""
        return max(self._moved_s)

    def moved_of_s(self, rank: int) -> float:
        """Returns when the last message of a rank has come."""
        return self._moved_s[rank]

    def has_joined(self, rank: int) -> bool:
        """Returns whether a rank has asked for a group."""
        return bool(self._joins[rank])

    @property
    def running(self) -> list[int]:
        """The ranks that neither wait in a call nor have ended."""
        return [rank for rank, waits in enumerate(self._waiting) if not waits and rank not in self._ended]

    @property
    def busy(self) -> list[int]:
        """The ranks that neither wait nor have ended, if any rank has made a call that is not complete."""
        return self.running if any(self._open) else []

    def examine(self, now_s: float) -> None:
        """Looks for calls that differ and ranks that can never continue, when no message is left to read."""
        if self.finding is not None:
            return
        idle = self.idle
        if idle and self._take_any():
            return
        if self.failed is not None and self._ends_all:
            self._failed_since = now_s if self._failed_since is None else self._failed_since
            if idle or now_s - self._failed_since > _FAILED_S:
                self._fail(failed(self._lines(), self.failed))
            return
        for group in self._groups:
            if group.differs_since is not None and (idle or now_s - group.differs_since > _DIFFERENT_S):
                self._disagree(group)
                return
        found = self.stuck()
        if any(self._threads[rank] > len(self._waiting[rank]) for rank in found) and now_s - self.moved_s < _THREADS_S:
            return
        if found:
            self._fail(blocked(self._lines()) if self.failed is None else failed(self._lines(), self.failed))

    def stuck(self, asleep: Collection[int] = ()) -> set[int]:
        """Returns the ranks that can never continue.  asleep: running ranks that go on only when another one does."""
        needs = {
            rank: [way for number in numbers for way in self._ways(rank, number)]
            for rank, numbers in enumerate(self._waiting)
            if numbers
        }
        running = set(self.running)
        for rank in asleep:
            needs[rank] = [{other} for other in running | set(needs) if other != rank]
        return stuck(running - set(asleep), needs)

    def _lines(self, texts: Mapping[int, str] | None = None) -> tuple[str, ...]:
        """Returns a line for each rank: in which call it waits, how it ended, or that it computes.

        texts: of ranks of which more is known.
        """
        known = texts or {}
        return tuple(f"rank {rank}: {known.get(rank) or self._state(rank)}" for rank in range(len(self._waiting)))

    def _ways(self, rank: int, number: int) -> list[set[int]]:
        group, member, call = self._open[rank][number]
        return group.ways(member, call)

    def _state(self, rank: int) -> str:
        if rank in self._ended:
            return self._ended[rank]
        texts = []
        for number in sorted(self._waiting[rank]):
            group, member, call = self._open[rank][number]
            place = f" in {group.name}" if group.name and call.kind not in JOINS else ""
            texts.append(f"waits in {call_text(call)}{place} for {self._missing(group, member, call)}")
        return "; ".join(texts) or "neither waits nor has ended"

    def _missing(self, group: Group, member: int, call: Call) -> str:
        missing = sorted(group.missing(member, call))
        return f"rank{'s' if len(missing) > 1 else ''} {', '.join(map(str, missing))}"

    def _called(self, rank: int, call: Call, now_s: float) -> None:
        group = self._group(rank, call)
        member = group.ranks.index(rank) if group.name else rank
        self._open[rank][call.number] = (group, member, call)
        if call.waits:
            self._waiting[rank].add(call.number)
        if call.peer is not None:
            pair = group.pair(member, call)
            if pair is not None:
                self._exchanged(group, pair)
        elif group.add(member, call):
            if group.differs:
                self._disagree(group)
            else:
                self._complete(group)
        elif group.differs_since is None and group.differs:
            group.differs_since = now_s

    def _group(self, rank: int, call: Call) -> Group:
        """Returns the group of a call; one that creates a group has its ranks in place of sizes."""
        if call.kind not in JOINS:
            return self._groups[call.group]
        name = call.subject or ""
        times = self._joins[rank][name] = self._joins[rank].get(name, -1) + 1
        number = self._by_name.setdefault((name, times), len(self._groups))
        if number == len(self._groups):
            self._groups.append(Group(name, tuple(call.sizes[0])))
        return self._groups[number]

    def _complete(self, group: Group) -> None:
        """Answers the first calls of all members."""
        calls = group.take()
        group.differs_since = None
        first = calls[0]
        if first.sizes and first.kind not in JOINS and (finding := splits_differ(group, calls)) is not None:
            self._fail(finding)
            return
        self._remark(group, calls)
        if self._record is not None:
            self._record.add([(rank, call) for rank, call in zip(group.ranks, calls, strict=True)])
        for member, (rank, call) in enumerate(zip(group.ranks, calls, strict=True)):
            if call.kind in JOINS:
                answer: list[Any] = [self._groups.index(group)]
            elif call.kind in ADDRESSED:
                answer = [addressed(other.parts, member, len(calls)) for other in calls]
            else:
                answer = [other.parts for other in calls]
            self._answer(rank, call, answer)
        if group.complete:  # calls that were made without waiting for the ones before
            if group.differs:
                self._disagree(group)
            else:
                self._complete(group)

    def _exchanged(self, group: Group, pair: Pair) -> None:
        source, target = group.ranks[pair.source], group.ranks[pair.target]
        if unlike(pair.send._replace(kind="", subject=None), pair.receive._replace(kind="", subject=None)):
            lines = (f"rank {source}: {call_text(pair.send)}", f"rank {target}: {call_text(pair.receive)}")
            self._fail(sizes_differ(lines, "A send and the receive that takes it differ."))
            return
        if self._record is not None:
            self._record.add([(source, pair.send), (target, pair.receive)])
        self._answer(source, pair.send, [])
        self._answer(target, pair.receive, [pair.source, pair.send.parts])

    def _take_any(self) -> bool:
        """Completes a receive from any rank, with the send that the schedule chooses; returns whether there was one."""
        for group in self._groups:
            for key, sources in group.any_source():
                chosen = sources[self._schedule.choose("source", len(sources))]
                self._exchanged(group, group.pair_from(key, chosen))
                return True
        return False

    def _answer(self, rank: int, call: Call, answer: list[Any]) -> None:
        del self._open[rank][call.number]
        self._waiting[rank].discard(call.number)
        self.outgoing.append((rank, ["done", call.number, answer]))

    def _disagree(self, group: Group) -> None:
        lines = []
        for rank, head in zip(group.ranks, group.heads(), strict=True):
            text = call_text(head) if head is not None else self._state(rank)
            lines.append(f"rank {rank}: {text}")
        self._fail(disagreed(lines, group.name))

    def _fail(self, finding: Finding) -> None:
        self.finding = finding
        self.busy_then = set(self.running)
        self.open_then = {rank: calls[min(calls)][2] for rank, calls in enumerate(self._open) if calls}
        for rank in range(len(self._waiting)):
            if rank not in self._ended:
                self.outgoing.append((rank, ["failed", finding.error, finding.text]))
            self._waiting[rank].clear()

    def _remark(self, group: Group, calls: Sequence[Call]) -> None:
        """Notes equal calls with tensors of different shapes, and from different lines."""
        first = calls[0]
        for rank, call in zip(group.ranks, calls, strict=True):
            if call.site == first.site and not shapes_differ(first, call):
                continue
            what = "shapes" if shapes_differ(first, call) else "lines"
            sides = f"rank {group.ranks[0]}: {call_text(first)}; rank {rank}: {call_text(call)}"
            text = f"different {what} in one call: {sides}"
            if text not in self.remarks and len(self.remarks) < _REMARKS_MAX:
                self.remarks.append(text)
