"""What a place for tasks offers, and results in the order of the arguments."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

__all__ = ["Lost", "Spread", "results"]

_AHEAD: Final = 4
"""How many tasks are begun for each worker before the first result is waited for."""


class Lost(NamedTuple):
    """In place of the result of a task whose process ended each time that it was tried.  text: how, for people."""

    argument: Any
    text: str


class Spread(Protocol):
    """Where tasks run.  workers: how many at a time, as known at the beginning."""

    workers: int

    def submit(self, function: Callable[[Any], Any], argument: Any) -> Callable[[], Any]:
        """Begins a task; returns what waits for its result, which may be `Lost`.

        function: of a module, and not of another function. The result raises what the function raises, and PeerFailed
        where there is nothing left to run it.
        """

    def close(self) -> None:
        """Ends what runs; nothing stays behind."""


def results(spread: Spread, function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterator[Any]:
    """Yields the result of each task, in the order of the arguments, of which there may be endlessly many.

    >>> from simstrategy_conformance.spread import spread_over
    >>> with spread_over("here", jobs=1) as here:
    ...     list(results(here, abs, [-1, 2]))
    [1, 2]
    """
    waiting: deque[Callable[[], Any]] = deque()
    for argument in arguments:
        waiting.append(spread.submit(function, argument))
        if len(waiting) >= _AHEAD * spread.workers:
            yield waiting.popleft()()
    while waiting:
        yield waiting.popleft()()
