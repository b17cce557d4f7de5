"""Ranks that exchange calls with each other: their messages go to the matcher and the laws, silent ones are looked at.

What starts and ends processes is above: `running.py` for a script of torchrun, `spawning.py` for spawned processes.
"""

from contextlib import suppress
from typing import Any, final

from simstrategy.launch.channel import Closed
from simstrategy.launch.server import Worker
from simstrategy.schedules import Seeded
from simstrategy_torch_distributed.asleep import Asleep
from simstrategy_torch_distributed.calls import JOINS, Call
from simstrategy_torch_distributed.laws.judged import Laws
from simstrategy_torch_distributed.matching import Matcher
from simstrategy_torch_distributed.record import Record
from simstrategy_torch_distributed.settings import Settings
from simstrategy_torch_distributed.stacks import Stacks

__all__ = ["World"]


@final
class World:
    """The ranks of one run, or of one default group.  store, port: of the run's own store, where it has one.

    ends_all: whether a rank that fails makes all others fail, as under torchrun; else only where one waits for it.
    """

    def __init__(
        self, settings: Settings, store: Worker | None = None, port: int | None = None, *, ends_all: bool = True
    ) -> None:
        self.record = Record() if settings.record else None
        self.matcher = Matcher(settings.ranks, Seeded(settings.seed), self.record, ends_all=ends_all)
        self.laws = Laws(settings.laws, settings.ranks)
        self.workers: dict[int, Worker] = {}
        """The ranks that have not ended, each with the channel of its calls."""
        self.endings: dict[int, tuple[int, str]] = {}
        """Exit code and text of those that have."""
        self.planted: dict[int, dict[str, Any]] = {}
        """What ranks have observed of a fault, where one may be planted."""
        self.has_raised = False
        """Whether a rank has raised the error of the finding."""
        self.has_joined = False
        """Whether a rank has joined a group: the default one is the first."""
        self._stacks = Stacks(self.workers, settings.busy_s, settings.limit_s)
        self._asleep = Asleep(self.workers, store, port)

    def receive(self, rank: int, now_s: float) -> None:
        """Reads what a rank has sent.  Raises Closed when it has closed its channel."""
        for message in self.workers[rank].channel.drain():
            if message[0] == "ready":
                self._asleep.ready(rank, message[1])
            elif message[0] == "ended":
                code, text, forgotten, has_raised = message[1:]
                self.endings[rank] = (code, text)
                self.has_raised |= has_raised
                if not code and forgotten:
                    self.laws.receive(rank, "late", {"forgotten": forgotten})
            if message[0] == "observed" and message[1] == "fault":
                self.planted.setdefault(rank, {}).update(message[2])
            elif message[0] == "observed":
                self.laws.receive(rank, message[1], message[2])
            else:
                self.has_joined |= message[0] == "call" and Call(*message[2:]).kind in JOINS
                self.matcher.receive(rank, message, now_s)

    def send(self) -> None:
        """Sends the answers that the matcher has made.  A rank whose channel is closed gets none."""
        for rank, message in self.matcher.outgoing:
            worker = self.workers.get(rank)
            if worker is not None:
                with suppress(Closed):
                    worker.channel.send(message)
        self.matcher.outgoing.clear()

    def examine(self, now_s: float) -> None:
        """Looks for ranks that differ or are stuck, when no message is left to read."""
        self.matcher.examine(now_s)
        self.send()

    def look(self, now_s: float) -> None:
        """Looks at ranks that neither wait in a call nor end."""
        self._stacks.look(self.matcher, now_s)
        self._asleep.look(self.matcher, now_s)
        self.send()

    def end(self, rank: int, code: int, text: str) -> None:
        """Takes the end of a rank that is no longer among `workers`.  What it has sent before counts first."""
        code, text = self.endings.setdefault(rank, (code, text))
        self.matcher.end(rank, code, text)

    def forced(self, rank: int) -> None:
        """Notes that a rank is ended from outside, and whether it had computed since the finding was made."""
        self.planted.setdefault(rank, {}).update(is_forced=True, was_busy=rank in self.matcher.busy_then)
