"""One style of calls, and the sizes at which it is measured."""

import gc
from collections.abc import Callable
from typing import NamedTuple

import simstrategy as ss

__all__ = ["REPLICAS", "Sizes", "Style", "in_replicas"]


class Sizes(NamedTuple):
    """The sizes at which steps are counted, and those at which the clock is read."""

    counted: tuple[int, ...]
    timed: tuple[int, ...]


REPLICAS = Sizes((64, 512, 4096), (256, 1600, 10_000))


class Style(NamedTuple):
    """A style of calls.

    unit: what its cost should be proportional to. make: prepares an action for a number of these, which can be
    repeated; what it does itself is not counted.
    """

    unit: str
    make: Callable[[int], Callable[[], object]]
    sizes: Sizes = REPLICAS

    def prepared(self, size):
        """Returns an action that has run once, with nothing left of earlier ones."""
        action = self.make(size)
        gc.collect()
        action()
        return action


def in_replicas(body, *, arguments=None, sizes=REPLICAS, order="linear", **settings):
    """Returns the style of a replica function: one run of so many replicas.

    body: takes the replica context and the arguments. arguments: makes the run's, of the strategy and the number of
    replicas. order: of the simulator's additions. settings: of the strategy; a function is called for each strategy.
    """

    def make(count):
        made = {name: value() if callable(value) else value for name, value in settings.items()}
        strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=count, order=order), **made)
        given = () if arguments is None else arguments(strategy, count)

        def replica(*values):
            return body(ss.get_replica_context(), *values)

        return lambda: strategy.run(replica, given)

    return Style("replicas", make, sizes)
