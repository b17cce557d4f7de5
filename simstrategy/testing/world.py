"""What a test that runs on every replica receives."""

from dataclasses import dataclass
from typing import final

from simstrategy.errors import ContextError
from simstrategy.strategy import ReplicaContext, get_replica_context

__all__ = ["World"]


@final
@dataclass(frozen=True, slots=True)
class World:
    """One replica of a test with ``@pytest.mark.world_size(1, 2, 4)``.

    rank: its number, from 0. size: how many replicas there are.

    >>> import simstrategy as ss
    >>> world = ss.testing.World(rank=0, size=1)
    >>> ss.Strategy.mirrored("sim", replicas=1).run(lambda: float(world.context.all_reduce("SUM", 2.0)))
    2.0
    """

    rank: int
    size: int

    @property
    def context(self) -> ReplicaContext:
        """The replica context, with the collective calls.  Raises ContextError outside replica functions."""
        context = get_replica_context()
        if context is None:
            raise ContextError(
                "world.context is the context of the replica that runs, and no replica runs here. Read it in the body "
                "of the test, in no other thread and in no merge function."
            )
        return context
