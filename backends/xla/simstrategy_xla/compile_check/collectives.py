"""A program whose compiled steps request every kind of collective, for `check_compiled`.  It checks nothing.

Each step requests one kind, so that the step's name identifies the kind that is wrong in a compiled program.
"""

from typing import Any, Final

import numpy as np

from simstrategy.strategy import ReplicaContext, Strategy, Variable, VariableAggregation, get_replica_context
from simstrategy.values import PerReplica

__all__ = ["collectives"]

_DTYPES: Final = ("float32", "bfloat16", "int32")
"""The dtypes that TPUs add directly; a sum of float16 is compiled as a gather."""


def _context() -> ReplicaContext:
    context = get_replica_context()
    assert context is not None
    return context


def all_reduce(x: Any, dtype: str) -> Any:
    """Requests the sum of all ranks' arrays, and of a nest with a scalar in it."""
    xp = _context().xp
    array = xp.astype(x, dtype)
    return _context().all_reduce("SUM", array), _context().all_reduce(
        "SUM", {"half": array[:2], "scalar": xp.sum(array)}
    )


def mean(x: Any, dtype: str) -> Any:
    """Requests the mean of all ranks' arrays, in one nest."""
    xp = _context().xp
    array = xp.astype(x, dtype)
    return _context().all_reduce("MEAN", [array, xp.sum(array, axis=0)])


def all_gather(x: Any, dtype: str) -> Any:
    """Requests all ranks' arrays end to end, along either axis."""
    array = _context().xp.astype(x, dtype)
    return _context().all_gather(array, 0), _context().all_gather(array[:3], 1)


def merged(x: Any, dtype: str) -> Any:
    """Requests a sum, a mean along an axis, and a gather in cross-replica context."""

    def together(strategy: Strategy, value: Any, part: Any) -> Any:
        means = strategy.reduce("MEAN", part, axis=0)
        return strategy.reduce("SUM", value, axis=None), means, strategy.gather(part, 0)

    array = _context().xp.astype(x, dtype)
    return _context().merge_call(together, args=(array, array[:2]))


def collectives(strategy: Strategy) -> None:
    """Runs every step once for arrays [4, 6] of each dtype, and the writing of variables with each aggregation."""
    ranks = strategy.num_replicas_in_sync
    x = PerReplica([np.arange(24, dtype=np.float32).reshape(4, 6) % 7 + rank for rank in range(ranks)])
    for dtype in _DTYPES:
        # The mean of integers may have a dtype that the device lacks.
        for step in (all_reduce, all_gather, *((mean, merged) if "float" in dtype else ())):
            strategy.run(strategy.compile(step), args=(x, dtype))
    with strategy.scope():
        written = [
            Variable(np.zeros((rows, 6), np.float32), aggregation=aggregation)
            for rows, aggregation in enumerate(
                (VariableAggregation.SUM, VariableAggregation.MEAN, VariableAggregation.ONLY_FIRST_REPLICA), start=1
            )
        ]

    def writing(x: Any) -> None:
        """Writes variables that take the sum, the mean and the first replica's value."""
        for rows, variable in enumerate(written, start=1):
            variable.assign(x[:rows])

    strategy.run(strategy.compile(writing), args=(x,))
