"""The framework's part of a group: how its variables, datasets and compiled functions enter the strategy.

`device/frontend.py` lists what a backend may provide; where it provides nothing, every value is returned unchanged.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar

from simstrategy.device import Frontend, MakeVariable
from simstrategy.errors import ContextError
from simstrategy.run import Resolve, Suspend
from simstrategy.trace import Request, Site, describe_site

__all__ = ["FrontendBinding"]

P = TypeVar("P")
A = TypeVar("A")


def _same(value: Any) -> Any:
    return value


class FrontendBinding(NamedTuple):
    """A backend's frontend, attached to one strategy.  Clauses: F-1, F-2."""

    part: Frontend | None = None
    scope: Callable[[], AbstractContextManager[None]] = nullcontext
    """Enters a scope in which variables made by the framework belong to this strategy."""
    unwrap: Callable[[Any], Any] = _same
    """Returns the strategy's variable for one of the framework; any other value unchanged."""

    @classmethod
    def of(cls, frontend: Frontend | None, make: MakeVariable) -> "FrontendBinding":
        """Attaches a frontend to one strategy.  make: makes the strategy's variables."""
        return cls() if frontend is None else cls(frontend, frontend.attach(make), frontend.variable)

    def placements(self, devices: Iterable[AbstractContextManager[None]]) -> list[AbstractContextManager[None]]:
        """Returns context managers that enter each device and then the framework's scope."""
        return [_both(device, self.scope) for device in devices]

    def suspend(self, suspend: Suspend) -> Suspend:
        """Returns `suspend` of a replica that starts now, with the framework's check before each call."""
        if self.part is None:
            return suspend
        obstacle = self.part.obstacle()

        def checked(request: Request, payload: P, site: Site, resolve: Resolve[P, A], size: int | None, /) -> A:
            message = obstacle()
            if message is not None:
                raise ContextError(f"{message} The call: {describe_site(site)}.")
            return suspend(request, payload, site, resolve, size)

        return checked

    def compiled(self, function: Callable[..., Any], run: Callable[..., Any]) -> Callable[..., Any] | None:
        """Returns a function that compiles `run(function)`, if `function` is compiled; see `Frontend.compiled`."""
        return None if self.part is None else self.part.compiled(function, run)


@contextmanager
def _both(
    device: AbstractContextManager[None], make_scope: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    with device, make_scope():  # made only where the device has been entered
        yield
