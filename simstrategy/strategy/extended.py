"""`StrategyExtended`: what library code calls on a strategy, such as optimizers and loops.

A thin face over the engine, like `strategy.py`.
"""

import sys
from collections.abc import Callable
from typing import Any, final

from simstrategy.errors import ContextError
from simstrategy.strategy.engine import Engine
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.values import Mirrored

__all__ = ["StrategyExtended"]


@final
class StrategyExtended:
    """What `Strategy.extended` returns."""

    __slots__ = ("engine",)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        """What runs the replicas: for this project's own rooms."""

    @property
    def worker_devices(self) -> tuple[str, ...]:
        """The placements of this process's replicas.  Raises ContextError for the default strategy."""
        if self.engine.kind is DEFAULT:
            raise ContextError(
                "worker_devices is unsupported by the default strategy, which places nothing. Enter the scope of one "
                'that you made, for example Strategy.mirrored("sim", replicas=2).'
            )
        return tuple(device.placement for device in self.engine.local_devices)

    def call_for_each_replica(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Runs `fn` once per local replica and regroups what they return.

        args, kwargs: nests; distributed values become each replica's component. Raises what a replica
        raises, unchanged, and ReplicasDisagree.
        """
        return self.engine.run(fn, args, kwargs, self.engine.source(sys._getframe(1)))

    def broadcast_to(self, value: Any) -> Mirrored:
        """Returns an array, or host data, on every local replica's device: a copy for each, never `value` itself."""
        return self.engine.broadcast_to(value)
