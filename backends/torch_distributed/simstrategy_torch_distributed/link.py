"""A rank's connection to the process that matches calls: sends calls, and brings each answer to the call that waits.

Whoever waits reads the channel, for all. Threads of their own read it only while a future is awaited, which nobody has
to ask again; there is always one more than run callbacks, because a callback may wait for another future.
"""

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from types import FrameType
from typing import Any, Final, TypeAlias, final

import torch

from simstrategy.errors import ContextError, PeerFailed, SimStrategyError
from simstrategy.launch.channel import Channel, Closed, ready
from simstrategy.run.frames import is_users
from simstrategy_torch_distributed.calls import Call, call_text
from simstrategy_torch_distributed.findings import ERRORS

__all__ = ["Link", "Pending", "Requested", "Site", "is_asked", "site_of"]

_DRAINED: Final = 32
"""From so many calls without an answer on, each new call reads the answers that are there."""
_POLL_S: Final = 0.5
_UNLIMITED_S: Final = 1e6
_KEPT: Final = 64
_SMALL: Final = 64
"""The works of so many finished calls are kept, if they have so few elements: DDP's join waits for one again in C++."""
_SHOWN: Final = 10
_IDLE_MAX: Final = 2
"""How many threads for futures are kept while there are none."""

Site = tuple[str, int]
Requested: TypeAlias = Callable[[str, str, Sequence[int], Sequence[torch.Tensor], Sequence[torch.Tensor]], None]
"""Takes kind, group and ranks of a call, the tensors that it compares, and those that it writes, [...] each."""


@final
class Pending:
    """A call that was sent: its answer when that has come, and what is to be done with it once."""

    __slots__ = ("answer", "call", "error", "finish", "future", "is_asked", "lock", "result", "work")

    def __init__(self, call: Call, finish: Callable[[Any], None], result: list[torch.Tensor]) -> None:
        self.call = call
        self.finish: Callable[[Any], None] | None = finish
        """Writes the results; None when they are written."""
        self.result = result
        self.answer: Any = None
        self.error: SimStrategyError | None = None
        self.future: torch.futures.Future[Any] | None = None
        self.lock = threading.Lock()
        self.work: object = None
        """What waits for this call, kept while nobody has: C++ may hold it, and does not keep its Python object."""
        self.is_asked = False
        """Whether the script itself asked for the result, without waiting for it."""

    @property
    def answered(self) -> bool:
        return self.answer is not None or self.error is not None

    def complete(self) -> None:
        """Writes the results, once; raises the error of the call."""
        if self.error is not None:
            raise self.error
        with self.lock:
            finish, self.finish = self.finish, None
            if finish is not None:
                finish(self.answer)


@final
class Link:
    """The connection of one rank."""

    def __init__(self, channel: Channel, rank: int) -> None:
        self.rank = rank
        self._channel = channel
        self._number = 0
        self._open: dict[int, Pending] = {}
        self._sending = threading.Lock()
        self._reading = threading.Lock()
        self._failure: tuple[type[SimStrategyError], str] | None = None
        self._futures: list[Pending] = []
        self._wanted = threading.Condition()
        self._servers = 0
        self._idle = 0
        """How many of the threads that complete futures run no callback."""
        self._process = os.getpid()
        self._unfinished: dict[int, Pending] = {}
        self._kept: deque[object] = deque(maxlen=_KEPT)
        self._has_raised = False
        """Whether a call has raised the error of the run."""
        self.made: Counter[str] = Counter()
        """How many collective calls each group has made, by torch's name of the group."""
        self.errors: deque[SimStrategyError] = deque(maxlen=_KEPT)
        """The errors that calls have received, of which each may have been raised."""
        self.requested: Requested | None = None
        """Receives each call that the script itself makes, where a law needs it."""
        self.began: Callable[[Pending], None] | None = None
        """Receives each call for whose results the script itself will wait, where a law needs it."""
        self.finished: Callable[[Pending], None] | None = None
        """Receives such a call again before its results are written."""

    @property
    def calls(self) -> int:
        """How many calls the rank has made."""
        return self._number

    def call(self, fields: dict[str, Any], finish: Callable[[Any], None], result: list[torch.Tensor]) -> Pending:
        """Sends a call; fields: those of `Call` but its number. finish: writes the results, given the answer.

        result: what its future gives, [...] each.
        """
        if os.getpid() != self._process:
            raise ContextError(
                f"A process that rank {self.rank} has forked calls {fields['kind']}. Only the rank itself can: call it "
                f"there, and not in a DataLoader's or another worker process."
            )
        with self._sending:
            self._number += 1
            pending = Pending(Call(number=self._number, **fields), finish, result)
            self._open[self._number] = self._unfinished[self._number] = pending
            self._send(["call", self._threads(), *pending.call])
        if self._failure is not None:
            pending.error = self._error()
        elif len(self._open) > _DRAINED:
            while ready([self._channel], 0.0):
                self._read(0.0)
        return pending

    def wait(self, pending: Pending, timeout: timedelta | None) -> None:
        """Waits for the answer of a call and writes its results.

        Raises the error of the run, or PeerFailed after `timeout`.
        """
        if not pending.answered:
            if not pending.call.waits:
                with self._sending:
                    self._send(["wait", self._threads(), pending.call.number])
            limit_s = timeout.total_seconds() if timeout is not None and timeout > timedelta(0) else None
            end_s = None if limit_s is None else time.monotonic() + limit_s
            while not pending.answered:
                if end_s is not None and time.monotonic() > end_s:
                    with self._sending:
                        self._send(["waited", pending.call.number])
                    raise PeerFailed(
                        f"Rank {self.rank} has waited {limit_s:g} s, the timeout of the group, in "
                        f"{call_text(pending.call)}. Other ranks had not made the call by then."
                    )
                self._read(_POLL_S, lambda: pending.answered)
        self._finish(pending)

    def poll(self, pending: Pending) -> bool:
        """Returns whether the answer of a call has come; writes its results then."""
        while not pending.answered and ready([self._channel], 0.0):
            self._read(0.0, lambda: pending.answered)
        if pending.answered and pending.error is None:
            self._finish(pending)
        return pending.answered

    def unfinished(self) -> list[str]:
        """Returns the calls whose result the script asked for and never waited for, as text, each once."""
        found = [call_text(one.call) for one in list(self._unfinished.values()) if one.is_asked]
        return list(dict.fromkeys(found))[:_SHOWN]

    def future(self, pending: Pending) -> "torch.futures.Future[Any]":
        """Returns the future of a call, which a thread completes."""
        with self._wanted:
            if pending.future is None:
                pending.future = torch.futures.Future()
                if pending.answered:
                    self._complete_future(pending)
                else:
                    self._futures.append(pending)
                    self._wanted.notify()
                    self._require_server()
        return pending.future

    def observed(self, message: list[Any]) -> None:
        """Sends what was observed for a law.  message: the law's name and a report."""
        if os.getpid() == self._process:
            with self._sending:
                self._send(["observed", *message])

    def ready(self) -> None:
        """Sends the number of the socket on which this rank receives answers."""
        with self._sending:
            self._send(["ready", os.fstat(self._channel.fileno()).st_ino])

    def ended(self, code: int, text: str) -> None:
        """Sends how the script ended, which results it never waited for, and whether a call has raised."""
        if os.getpid() == self._process:
            with self._sending:
                self._send(["ended", code, text, self.unfinished(), self._has_raised])

    def _finish(self, pending: Pending) -> None:
        """Writes the results of a call, and keeps no more of it than C++ may ask for again."""
        self._unfinished.pop(pending.call.number, None)
        self._has_raised |= pending.error is not None
        if pending.is_asked and self.finished is not None:
            self.finished(pending)
        if sum(one.numel() for one in pending.result) <= _SMALL:
            self._kept.append(pending.work)
        pending.work = None
        pending.complete()

    def _complete_future(self, pending: Pending) -> None:
        """Completes the future of a call that is answered."""
        assert pending.future is not None
        try:
            self._finish(pending)
        except Exception as error:  # noqa: BLE001 - whoever waits for the future receives it
            pending.future.set_exception(error)
        else:
            pending.future.set_result(pending.result)

    def _require_server(self) -> None:
        """Starts a thread that completes futures unless one is free."""
        if not self._idle:
            self._servers += 1
            self._idle += 1
            threading.Thread(target=self._serve, name="simstrategy answers", daemon=True).start()

    def _serve(self) -> None:
        while True:
            with self._wanted:
                done = [one for one in self._futures if one.answered]
                self._futures = [one for one in self._futures if not one.answered]
                if done:
                    self._idle -= 1
                    self._require_server()
                elif not self._futures:
                    self._wanted.wait()
                    continue
            for one in done:
                self._complete_future(one)
            if done:
                with self._wanted:
                    self._idle += 1
                    if self._idle > _IDLE_MAX:
                        self._idle -= 1
                        self._servers -= 1
                        return
            else:
                # Without a limit: a rank that sleeps is recognised by threads that are never woken.
                self._read(_UNLIMITED_S, lambda: any(one.answered for one in self._futures))

    def _threads(self) -> int:
        """Returns how many threads of the script there are."""
        return threading.active_count() - self._servers

    def _send(self, message: list[Any]) -> None:
        try:
            self._channel.send(message)
        except Closed:
            os._exit(1)  # the command has ended, and the keeper ends this process too

    def _read(self, seconds: float, is_done: Callable[[], bool] | None = None) -> None:
        """Reads what has arrived; waits for it at most so long. is_done: whether another thread has read it."""
        if not self._reading.acquire(timeout=-1 if seconds == _UNLIMITED_S else max(seconds, 0.001)):
            return
        try:
            if (is_done is not None and is_done()) or not ready([self._channel], seconds):
                return
            for message in self._channel.drain():
                self._take(message)
        except Closed:
            os._exit(1)
        finally:
            self._reading.release()

    def _take(self, message: Sequence[Any]) -> None:
        if message[0] == "done":
            self._open.pop(message[1]).answer = message[2]
        else:
            self._failure = (ERRORS[message[1]], message[2])
            for pending in list(self._open.values()):
                pending.error = self._error()
            self._open.clear()

    def _error(self) -> SimStrategyError:
        assert self._failure is not None
        kind, text = self._failure
        self.errors.append(kind(text))
        return self.errors[-1]


def is_asked(frame: FrameType | None) -> bool:
    """Returns whether the user's code makes a group's call by itself: with nothing between but torch's function."""
    while frame is not None and (frame.f_globals.get("__name__") or "").startswith(_BETWEEN):
        frame = frame.f_back
    return frame is not None and is_users(frame)


_BETWEEN: Final = (
    "torch.distributed.distributed_c10d",
    "torch.distributed.c10d_logger",
    "torch.overrides",  # under a mode for functions of torch, such as that of CUDA's names
    "typing_extensions",  # torch's deprecated names are wrapped by it
    "simstrategy_torch_distributed.",
)


def site_of(frame: FrameType | None) -> Site:
    """Returns the newest line of a stack that is the user's; ("", 0) where there is none."""
    while frame is not None:
        if is_users(frame):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0
