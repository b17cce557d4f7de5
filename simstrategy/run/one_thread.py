"""One strategy is used by one thread at a time: runs and writes of several threads follow one another, as they came.

Between two of them nothing of a third can happen, so no update is lost. A thread that waits for long is reported, and
one that waits for a thread that waits for it is ended: see `deadlocks.py`.
"""

import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar, final

from simstrategy.errors import ContextError, ReplicaWaits
from simstrategy.run.deadlocks import end_deadlock_of
from simstrategy.run.forced import raise_no_more
from simstrategy.run.task import TaskStopped
from simstrategy.run.threads import hubs
from simstrategy.run.turns import TURNS, Failure, Turn
from simstrategy.run.watch import watch
from simstrategy.trace import Site, describe_site, warn_at

__all__ = ["OneThread"]

_PAUSE_MIN_S: Final = 2e-5
_PAUSE_MAX_S: Final = 5e-3
_LOOK_S: Final = 0.5
"""When a thread that waits looks for the first time whether its wait can end; each time after twice as long."""

_IN_THE_WATCH: Final = (
    "A destructor used a strategy that another thread uses, and the garbage collector ran it in the thread that "
    "watches replicas, for which a run may wait. Use strategies where the program runs: end objects by a call, or by "
    "`with`."
)

R = TypeVar("R")


@final
class OneThread:
    """The threads that use one strategy, in the order in which they began: the first one does, the others wait.

    wait_limit_s: seconds after which one that waits is reported; None for never.
    """

    __slots__ = ("_failed", "_open", "_users", "_wait_limit_s", "leave")

    def __init__(self, wait_limit_s: float | None) -> None:
        # No lock: an entry is added and removed in one step, whatever interrupts the thread.
        self._users: dict[object, tuple[int, Site]] = {}
        self._wait_limit_s = wait_limit_s
        self._open: dict[object, None] = {}
        """The uses that may be interrupted."""
        self._failed: dict[object, Failure] = {}
        """The uses that could not end, and why: they raise it when they have ended."""
        self.leave: Callable[[object, None], object] = self._users.pop
        """Ends a use: `leave(use, None)`, also of one that has not begun."""

    def enter(self, use: object, site: Site) -> None:
        """Begins a use, until `leave`; waits until no other thread uses the strategy.  The same thread may nest."""
        self._users[use] = (threading.get_ident(), site)
        if len(self._users) > 1:
            self._wait(site)
        self._open[use] = None

    def call(self, site: Site, function: Callable[..., R], *args: object) -> R:
        """Returns what a function returns, called as one use."""
        use = object()
        try:
            self.enter(use, site)
            result = function(*args)
            self.ended(use, None)
        except BaseException as error:
            self.ended(use, error)
            raise
        finally:
            self.leave(use, None)
        return result

    def ended(self, use: object, error: BaseException | None) -> None:
        """Is called before `leave`: from now on the use is not interrupted.  error: what it raised.

        Raises why it could not end, where it could not.
        """
        self._open.pop(use, None)
        failure = self._failed.get(use)
        if failure is not None:
            try:
                _raise(failure, error)
            finally:
                self._failed.pop(use, None)

    def fail(self, user: int, failure: Failure) -> bool:
        """Makes the use of a thread end with an error; returns False where it has ended."""
        use = next(iter(list(self._users)), None)
        ident, _ = self._users.get(use, (None, None))
        if ident != user:
            return False
        # In this order, and `ended` in the opposite one: either the use sees the failure, or this sees that it ended.
        self._failed[use] = failure
        if use in self._open:
            return True
        self._failed.pop(use, None)
        return False

    @property
    def user(self) -> int | None:
        """The thread that uses the strategy."""
        return next(iter(list(self._users.values())), (None,))[0]

    @property
    def place(self) -> Site | None:
        """The line of its call."""
        users = list(self._users.values())
        return users[0][1] if users else None

    def _wait(self, site: Site) -> None:
        if watch().looks_here():
            raise ContextError(_IN_THE_WATCH)
        ident, own = threading.get_ident(), _own_threads()
        turn = Turn(self, site, own)
        TURNS[ident] = turn
        try:
            self._wait_until(turn)
        finally:
            TURNS.pop(ident, None)

    def _wait_until(self, turn: Turn) -> None:
        limit_s = math.inf if self._wait_limit_s is None else self._wait_limit_s
        began_s, pause_s, warned = time.monotonic(), _PAUSE_MIN_S, False
        look_s = math.inf if self._wait_limit_s is None else min(_LOOK_S, limit_s)
        while self.user not in turn.own:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)
            waited_s = time.monotonic() - began_s
            if waited_s >= look_s:
                look_s = 2 * waited_s
                end_deadlock_of(threading.get_ident())
            if turn.error is not None:
                raise turn.error
            if not warned and waited_s >= limit_s:
                warned = True
                self._warn(turn.site, waited_s)

    def _warn(self, site: Site, waited_s: float) -> None:
        user, place = next(iter(list(self._users.values())), (None, site))
        name = next((one.name for one in threading.enumerate() if one.ident == user), "another one")
        text = (
            f"The call at {describe_site(site)} in thread {threading.current_thread().name!r} has waited for "
            f"{waited_s:.0f} s until thread {name!r} has ended its call of this strategy, at {describe_site(place)}. "
            f"One strategy is used by one thread at a time. Make a strategy for each thread."
        )
        warn_at(ReplicaWaits(text), site)


def _raise(failure: Failure, error: BaseException | None) -> None:
    """Raises why a use could not end, when every interrupt that was sent for it has come, and more than those first."""
    interrupts = int(isinstance(error, KeyboardInterrupt))
    while True:
        try:
            while not failure.sent:
                time.sleep(_PAUSE_MIN_S)
            raise_no_more(sys.gettrace())
            break
        except TaskStopped:  # the one that was sent, now or never
            continue
        except KeyboardInterrupt:
            interrupts += 1
    if interrupts > failure.signals:  # the user's own
        raise error if isinstance(error, KeyboardInterrupt) else KeyboardInterrupt
    if not failure.withdrawn:
        raise failure.error from (error if isinstance(error, Exception) and error is not failure.error else None)


def _own_threads() -> frozenset[int]:
    """Returns this thread, the hub of the task that it carries, and the hub of the task that this one carries."""
    found, carried = [threading.get_ident()], hubs()
    while found[-1] in carried:
        found.append(carried[found[-1]])
    return frozenset(found)
