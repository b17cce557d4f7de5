"""This process's part of values: the components of one, and values made of one component per replica.

Nothing meets here, and nothing is moved: no other worker is asked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from simstrategy import tree
from simstrategy.errors import InvalidType
from simstrategy.strategy.modes import require_cross_replica
from simstrategy.strategy.reductions.reducing import is_distributed
from simstrategy.strategy.variables.variable import Variable
from simstrategy.values import DistributedValues, Mirrored, regroup, select

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["ValueContext", "local_results", "values_from_function"]


@final
@dataclass(frozen=True, slots=True)
class ValueContext:
    """What the function of `experimental_distribute_values_from_function` is told."""

    replica_id_in_sync_group: int = 0
    """Counted over all workers."""
    num_replicas_in_sync: int = 1

    def __str__(self) -> str:
        return (
            f"ValueContext(replica id {self.replica_id_in_sync_group}, total replicas in sync: "
            f"{self.num_replicas_in_sync})"
        )


def values_from_function(engine: "Engine", value_fn: Callable[[ValueContext], Any]) -> Any:
    """Returns `value_fn`'s nest for each local replica as one of PerReplica values.  Clauses: V-6."""
    require_cross_replica(engine.strategy, "experimental_distribute_values_from_function")
    if not callable(value_fn):
        raise InvalidType(
            f"experimental_distribute_values_from_function takes a function of a ValueContext, got {value_fn!r}."
        )
    made = [value_fn(ValueContext(device.rank, engine.num_replicas)) for device in engine.local_devices]
    return regroup(made, always_wrap=True) if engine.kind.wraps else made[0]


def local_results(engine: "Engine", value: Any) -> tuple[Any, ...]:
    """Returns a value's local components; see `Strategy.experimental_local_results`.  Clauses: V-5."""
    if not engine.kind.wraps:
        return (value,)
    value = engine.own(value)
    if isinstance(value, DistributedValues):
        return value.values
    if isinstance(value, Variable):
        return value.components if is_distributed(value.engine, value) else (value,)
    if tree.is_leaf(value) or engine.semantics.local_results_of_nests == "keep":
        return (value,)
    whole = tree.map_leaves(lambda leaf: _components_of(engine.own(leaf)), value)
    return tuple(select(index, whole) for index in range(len(engine.local_devices)))


def _components_of(leaf: Any) -> Any:
    distributed = isinstance(leaf, Variable) and is_distributed(leaf.engine, leaf)
    return Mirrored(leaf.components) if distributed else leaf
