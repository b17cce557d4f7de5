"""A program whose compiled steps ask for every collective there is, for `check_compiled`.  It checks nothing itself.

One step for each way of asking, so that what is wrong in a compiled program has a name.
"""

from typing import Any, Final

import numpy as np

from simstrategy.strategy import ReplicaContext, Strategy, Variable, VariableAggregation, get_replica_context
from simstrategy.values import PerReplica

__all__ = ["collectives"]

_DTYPES: Final = ("float32", "bfloat16", "int32")
"""What TPUs add by themselves; a sum of float16 they make of a gather."""


def _me() -> ReplicaContext:
    context = get_replica_context()
    assert context is not None
    return context


def all_reduce(x: Any, dtype: str) -> Any:
    """Asks for the sum of all ranks' arrays, and of a nest with a scalar in it."""
    xp = _me().xp
    own = xp.astype(x, dtype)
    return _me().all_reduce("SUM", own), _me().all_reduce("SUM", {"half": own[:2], "scalar": xp.sum(own)})


def mean(x: Any, dtype: str) -> Any:
    """Asks for the mean of all ranks' arrays, in one nest."""
    xp = _me().xp
    own = xp.astype(x, dtype)
    return _me().all_reduce("MEAN", [own, xp.sum(own, axis=0)])


def all_gather(x: Any, dtype: str) -> Any:
    """Asks for all ranks' arrays end to end, along either axis."""
    own = _me().xp.astype(x, dtype)
    return _me().all_gather(own, 0), _me().all_gather(own[:3], 1)


def merged(x: Any, dtype: str) -> Any:
    """Asks for a sum, a mean along an axis, and a gather in cross-replica context."""

    def together(strategy: Strategy, value: Any, part: Any) -> Any:
        means = strategy.reduce("MEAN", part, axis=0)
        return strategy.reduce("SUM", value, axis=None), means, strategy.gather(part, 0)

    own = _me().xp.astype(x, dtype)
    return _me().merge_call(together, args=(own, own[:2]))


def collectives(strategy: Strategy) -> None:
    """Runs every step once for arrays [4, 6] of each dtype, and the writing of variables with each aggregation."""
    ranks = strategy.num_replicas_in_sync
    x = PerReplica([np.arange(24, dtype=np.float32).reshape(4, 6) % 7 + rank for rank in range(ranks)])
    for dtype in _DTYPES:
        # Integers' means may be wider than a device holds.
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
