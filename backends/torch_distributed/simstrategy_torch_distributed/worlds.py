"""The default groups of spawned processes: each is a world of its own, which processes join and leave.

Those that meet at one store with one number of ranks are one group. What a group has shown is known when all have left.
"""

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, final

from simstrategy.launch.channel import Channel, Closed, ready
from simstrategy.launch.server import Worker
from simstrategy_torch_distributed.settings import Settings
from simstrategy_torch_distributed.world import World

__all__ = ["Seat", "Worlds"]


@final
@dataclass(eq=False, slots=True)
class _Group:
    """A default group.  place: where its processes meet. memory: the file that they share. taken: ranks that came."""

    world: World
    place: str
    size: int
    memory: int
    taken: set[int] = field(default_factory=set)


class Seat(NamedTuple):
    """One rank of a group, and the channel of its calls.  memory: the file that the group shares."""

    group: _Group
    rank: int
    channel: Channel

    @property
    def memory(self) -> int:
        return self.group.memory


@final
class Worlds:
    """All groups that have ranks.  settings: of each, but for the number of ranks."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._groups: list[_Group] = []
        self.findings: list[str] = []
        """What groups that have ended show and no rank has raised, as texts."""

    def __bool__(self) -> bool:
        return bool(self._groups)

    def join(self, place: str, rank: int, size: int, worker: Worker) -> Seat:
        """Gives a process, with the channel of its calls, a rank of a group.  Raises InvalidArgument for the size."""
        group = next((one for one in self._groups if _has_room(one, place, rank, size)), None)
        if group is None:
            settings = replace(self._settings, ranks=size)
            memory = os.memfd_create("simstrategy")
            os.ftruncate(memory, size << 38)
            group = _Group(World(settings, ends_all=False), place, size, memory)
            self._groups.append(group)
        group.taken.add(rank)
        group.world.workers[rank] = worker
        return Seat(group, rank, worker.channel)

    def receive(self, seat: Seat, now_s: float) -> None:
        """Reads what a rank has sent.  Raises Closed when it has closed its channel."""
        if seat.rank in seat.group.world.workers:
            seat.group.world.receive(seat.rank, now_s)
        else:
            seat.channel.drain()  # of a group that the process has left

    def attend(self, now_s: float, *, is_quiet: bool) -> None:
        """Sends what is to be sent, and looks at ranks.  is_quiet: whether no rank has sent anything for a moment."""
        for group in self._groups:
            group.world.send()
            if is_quiet or group.world.matcher.idle:
                group.world.examine(now_s)
            if is_quiet:
                group.world.look(now_s)

    def leave(self, seat: Seat, code: int, text: str, now_s: float) -> None:
        """Takes a rank out of its group; the laws judge the group when it was the last one."""
        world = seat.group.world
        if seat.rank not in world.workers:
            return
        with suppress(Closed):
            while ready([seat.channel], 0.0):
                world.receive(seat.rank, now_s)
        del world.workers[seat.rank]
        world.end(seat.rank, code, text)
        world.send()
        if not world.workers:
            self._groups.remove(seat.group)
            os.close(seat.group.memory)
            self.findings += _shown(world)


def _has_room(group: _Group, place: str, rank: int, size: int) -> bool:
    return (group.place, group.size) == (place, size) and rank not in group.taken


def _shown(world: World) -> list[str]:
    """Returns what an ended group shows: what its laws find, and a finding whose error no rank has noticed."""
    found = [one.text for one in world.laws.close()[0]]
    if (
        world.matcher.finding is not None
        and not world.has_raised
        and not any(code for code, _ in world.endings.values())
    ):
        found.append(world.matcher.finding.text)
    return found
