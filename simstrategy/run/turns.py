"""The threads that wait for their turn with a strategy: see `one_thread.py`."""

from typing import Final, Protocol, final

from simstrategy.errors import ReplicasBlocked
from simstrategy.trace import Site

__all__ = ["TURNS", "Failure", "Turn", "Users"]


@final
class Failure:
    """Why one use of a strategy cannot end.  error: which it raises when it has ended.

    The thread that found it may interrupt the use before it sets `sent`, and the use waits for that before it ends: no
    interrupt comes later than the use.
    """

    __slots__ = ("error", "sent", "signals", "withdrawn")

    def __init__(self, error: ReplicasBlocked) -> None:
        self.error = error
        self.signals = 0
        """How many times SIGINT was sent for it."""
        self.sent, self.withdrawn = False, False
        """Whether all is sent that is to be sent; whether the use has ended before that, and so could end."""


class Users(Protocol):
    """The threads that use one strategy."""

    @property
    def user(self) -> int | None:
        """The thread whose turn it is."""
        ...

    @property
    def place(self) -> Site | None:
        """The line of the call that this thread has made."""
        ...

    def fail(self, user: int, failure: Failure) -> bool:
        """Makes this call end with an error, whatever comes of it; returns False where it has ended."""
        ...


@final
class Turn:
    """One thread's wait.  site: of its call; own: the thread, and the hubs of the task that it carries."""

    __slots__ = ("error", "own", "site", "users")

    def __init__(self, users: Users, site: Site, own: frozenset[int]) -> None:
        self.users, self.site, self.own = users, site, own
        self.error: ReplicasBlocked | None = None
        """Why the wait has ended, where it could not end otherwise."""


TURNS: Final[dict[int, Turn]] = {}
"""The wait of each thread that waits."""
