"""The call of one replica that waits for the same call of the others, and the types of its way.

A replica calls `Suspend`, the coordinator compares the requests, and `Resolve` makes the answers. Nothing runs here.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from simstrategy.trace import Request, Site

__all__ = ["PendingCall", "Resolve", "Sizes", "Suspend"]

P = TypeVar("P")
"""The payload: the values of one replica's call."""
A = TypeVar("A")
"""The answer: the result that one replica's call returns."""

Sizes = tuple[int, ...]
"""One size per rank, where replicas may choose it freely."""

Resolve: TypeAlias = Callable[[Request, Sequence[P], Sizes], Sequence[A]]
"""Makes the answers, in task order, from the request, the local tasks' payloads, and every rank's size."""


class PendingCall(NamedTuple, Generic[P, A]):
    """One replica's call at a synchronization point.

    It travels as the plain tuple of the arguments of `Suspend`: this class gives the fields their names.
    """

    request: Request
    """What is compared: equal on all replicas, or `ReplicasDisagree` is raised."""
    payload: P
    site: Site
    resolve: Resolve[P, A]
    """Makes the answers; the first replica's is called."""
    size: int | None
    """A size that replicas choose freely, such as that along a gathered axis; None where there is none."""


class Suspend(Protocol):
    """Suspends the task that calls it until all tasks have made the same call; returns its answer.

    The arguments are those of `PendingCall`. Raises ReplicasDisagree where the requests differ.
    """

    def __call__(self, request: Request, payload: P, site: Site, resolve: Resolve[P, A], size: int | None, /) -> A: ...


AnyCall = PendingCall[Any, Any]
