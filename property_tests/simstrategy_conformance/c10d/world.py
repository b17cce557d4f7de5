"""A world of ranks that are kept: each is sent the same call, and its answers come back within a limit.

It moves no tensors and judges nothing. A rank that ends or does not answer ends the world.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, Listener, wait
from pathlib import Path
from typing import Any, Final, final

from simstrategy_conformance.c10d.answers import Answer, Asked, Place
from simstrategy_conformance.c10d.names import Named
from simstrategy_conformance.c10d.stacks import stacks_of
from simstrategy_conformance.c10d.starting import Started, start
from simstrategy_conformance.covered import Costly
from simstrategy_conformance.covering import Row

__all__ = ["Lost", "World"]

_LOOK_S: Final = 0.2
_LINES: Final = 4
"""So many last lines of what the ranks printed are shown."""
_OF_PROFILER: Final = "USDT:"
"""How lines begin that PyTorch's profiler prints at each start: it is the kit that starts it."""


class Lost(Costly):
    """A world has ended: a rank died, or did not answer in time."""


@final
class World:
    """Ranks of one backend.  limit_s: how long a call may take; start_s: how long all ranks may take to join.

    Raises Lost where they do not join.
    """

    def __init__(self, subject: Named, ranks: int, *, limit_s: float, start_s: float) -> None:
        self.ranks = ranks
        self._limit_s = limit_s
        self._number = 0
        self._folder = Path(tempfile.mkdtemp(prefix="simstrategy-c10d-"))
        self._output = self._folder / "output"
        self._channels: dict[int, Connection] = {}
        self._processes: dict[int, int] = {}
        self._started: Started | None = None
        try:
            self.joined = self._begin(subject, start_s)
        except BaseException:
            self.close()
            raise

    def _begin(self, subject: Named, start_s: float) -> list[Answer]:
        """Starts the ranks, and returns what came of joining."""
        key, until_s = os.urandom(16), time.monotonic() + start_s
        with Listener(str(self._folder / "kit"), backlog=self.ranks + 4, authkey=key) as listener:
            place = Place(
                *(subject.backend, subject.module, subject.object, str(listener.address), key, str(self._folder)),
                limit_s=self._limit_s,
                ranks=self.ranks,
            )
            self._started = start(subject, place, self._output)
            while len(self._channels) < self.ranks:
                self._accept(listener, until_s)
        return self._collect("join", until_s)

    def _accept(self, listener: Listener, until_s: float) -> None:
        socket: Any = listener._listener._socket  # type: ignore[attr-defined]  # noqa: SLF001 - accept has no limit
        if wait([socket], _LOOK_S):
            with contextlib.suppress(EOFError, OSError, AuthenticationError):
                channel = listener.accept()
                rank, process = channel.recv()
                self._channels[rank], self._processes[rank] = channel, process
        elif time.monotonic() > until_s or self._ended():
            missing = sorted({*range(self.ranks)} - {*self._channels})
            raise Lost(f"{self._which(missing)} did not start. {self._why()}")

    def carry_out(self, call: str, row: Row) -> list[Answer]:
        """Makes all ranks make a call; returns their answers, by rank.  Raises Lost; the world is closed then."""
        self._number += 1
        asked = Asked(call, row, self._number)
        try:
            for channel in self._channels.values():
                with contextlib.suppress(OSError):
                    channel.send(asked)
            return self._collect(call, time.monotonic() + self._limit_s)
        except BaseException:
            self.close()
            raise

    def _collect(self, call: str, until_s: float) -> list[Answer]:
        answers: dict[int, Answer] = {}
        waiting = dict(self._channels)
        while waiting:
            ready = wait(list(waiting.values()), max(0.0, min(1.0, until_s - time.monotonic())))
            for rank, channel in [(rank, one) for rank, one in waiting.items() if one in ready]:
                try:
                    received = channel.recv()
                except (EOFError, OSError):
                    why = f"{self._why()}{self._others(answers)}"
                    raise Lost(f"{call}: rank {rank} of {self.ranks} is gone. {why}") from None
                if isinstance(received, int):  # the port of rank 0's store, for all others
                    for other, one in self._channels.items():
                        if other != rank:
                            one.send(received)
                else:
                    answers[rank] = received
                    del waiting[rank]
            if waiting and time.monotonic() > until_s:
                stacks = stacks_of(self._folder, {rank: self._processes[rank] for rank in sorted(waiting)})
                why = f"{self._why()}{self._others(answers)}{stacks}"
                raise Lost(f"{call}: {self._which(sorted(waiting))} did not answer in time. {why}")
        return [answers[rank] for rank in range(self.ranks)]

    def _which(self, ranks: list[int]) -> str:
        listed = ", ".join(map(str, ranks))
        return f"rank{'s' * (len(ranks) > 1)} {listed} of {self.ranks}"

    def _ended(self) -> dict[int, str]:
        return {} if self._started is None else self._started.ended()

    def _why(self) -> str:
        """Returns how processes ended, and the last lines that they printed."""
        until_s = time.monotonic() + 1.0
        while not self._ended() and time.monotonic() < until_s:
            time.sleep(0.02)
        how = "; ".join(f"process {number} {text}" for number, text in sorted(self._ended().items()))
        with contextlib.suppress(OSError):
            lines = self._output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            own = [line for line in lines if not line.startswith(_OF_PROFILER)]
            how += "".join(f"\n  {line}" for line in own[-_LINES:])
        return how or "No process has ended."

    def _others(self, answers: Mapping[int, Answer]) -> str:
        """Returns what ranks have answered that did not find what they should, a line each text; "" for nothing."""
        of_text: dict[str, list[int]] = {}
        for rank, answer in answers.items():
            if answer.status in ("refused", "wrong"):
                of_text.setdefault(f"{answer.status}: {answer.text}", []).append(rank)
        return "".join(f"\n  {self._which(sorted(ranks))}, {text}" for text, ranks in of_text.items())

    def close(self) -> None:
        """Ends the ranks, and removes what they have left."""
        for channel in self._channels.values():
            channel.close()
        self._channels.clear()
        started, self._started = self._started, None
        if started is not None:
            started.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def is_open(self) -> bool:
        """Whether calls can be made."""
        return self._started is not None
