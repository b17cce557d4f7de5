"""The threads that wait for their turn with a strategy: see `one_thread.py`."""

from typing import Final, Protocol, final

from simstrategy.errors import ReplicasBlocked
from simstrategy.trace import Site

__all__ = ["TURNS", "Turn", "Users"]


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

    def fail(self, error: ReplicasBlocked) -> None:
        """Makes this call end with an error, whatever comes of it."""
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
