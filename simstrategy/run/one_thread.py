"""One strategy is used by one thread at a time: runs and writes of several threads follow one another, as they came.

Between two of them nothing of a third can happen, so no update is lost. A thread that waits for long is reported.
"""

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar, final

from simstrategy.errors import ReplicaWaits
from simstrategy.trace import Site, describe_site, warn_at

__all__ = ["OneThread"]

_PAUSE_MIN_S: Final = 2e-5
_PAUSE_MAX_S: Final = 5e-3

R = TypeVar("R")


@final
class OneThread:
    """The threads that use one strategy, in the order in which they began: the first one does, the others wait.

    wait_limit_s: seconds after which one that waits is reported; None for never.
    """

    __slots__ = ("_users", "_wait_limit_s", "leave")

    def __init__(self, wait_limit_s: float | None) -> None:
        # No lock: an entry is added and removed in one step, whatever interrupts the thread.
        self._users: dict[object, tuple[int, Site]] = {}
        self._wait_limit_s = wait_limit_s
        self.leave: Callable[[object, None], object] = self._users.pop
        """Ends a use: `leave(use, None)`, also of one that has not begun."""

    def enter(self, use: object, site: Site) -> None:
        """Begins a use, until `leave`; waits until no other thread uses the strategy.  The same thread may nest."""
        self._users[use] = (threading.get_ident(), site)
        if len(self._users) > 1:
            self._wait(site)

    def call(self, site: Site, function: Callable[..., R], *args: object) -> R:
        """Returns what a function returns, called as one use."""
        use = object()
        try:
            self.enter(use, site)
            return function(*args)
        finally:
            self.leave(use, None)

    @property
    def user(self) -> int | None:
        """The thread that uses the strategy."""
        return next(iter(list(self._users.values())), (None,))[0]

    def _wait(self, site: Site) -> None:
        ident, began_s, pause_s, warned = threading.get_ident(), time.monotonic(), _PAUSE_MIN_S, False
        while self.user != ident:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_MAX_S)
            waited_s = time.monotonic() - began_s
            if not warned and self._wait_limit_s is not None and waited_s >= self._wait_limit_s:
                warned = True
                self._warn(site, waited_s)

    def _warn(self, site: Site, waited_s: float) -> None:
        user, place = next(iter(list(self._users.values())), (None, site))
        name = next((one.name for one in threading.enumerate() if one.ident == user), "another one")
        text = (
            f"The call at {describe_site(site)} in thread {threading.current_thread().name!r} has waited for "
            f"{waited_s:.0f} s until thread {name!r} has ended its call of this strategy, at {describe_site(place)}. "
            f"One strategy is used by one thread at a time. Make a strategy for each thread."
        )
        warn_at(ReplicaWaits(text), site)
