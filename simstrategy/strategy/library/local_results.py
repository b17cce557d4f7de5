"""This process's part of values: the components of a value, and values made of one component per replica.

There is no communication with other workers, and no copy between devices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from simstrategy import tree
from simstrategy.errors import InvalidType
from simstrategy.regrouping import regroup
from simstrategy.short_repr import short_repr
from simstrategy.strategy.group import Group
from simstrategy.strategy.modes import require_cross_replica, require_each_replica
from simstrategy.strategy.reductions.reducing import is_distributed
from simstrategy.strategy.variables.variable import Variable
from simstrategy.values import DistributedValues, Mirrored, select

__all__ = ["ValueContext", "local_results", "values_from_function"]


@final
@dataclass(frozen=True, slots=True)
class ValueContext:
    """The argument of the function of `experimental_distribute_values_from_function`."""

    replica_id_in_sync_group: int = 0
    """Counted over all workers."""
    num_replicas_in_sync: int = 1

    def __str__(self) -> str:
        return (
            f"ValueContext(replica id {self.replica_id_in_sync_group}, total replicas in sync: "
            f"{self.num_replicas_in_sync})"
        )


def values_from_function(group: Group, value_fn: Callable[[ValueContext], Any]) -> Any:
    """Returns `value_fn`'s nest for each local replica as one of PerReplica values.  Clauses: V-6."""
    require_cross_replica(group, "experimental_distribute_values_from_function")
    if not callable(value_fn):
        raise InvalidType(
            f"experimental_distribute_values_from_function takes a function of a ValueContext, got "
            f"{short_repr(value_fn)}. "
            f"Pass the function itself."
        )
    made = [value_fn(ValueContext(device.rank, group.num_replicas)) for device in group.local_devices]
    return regroup(made, always_wrap=True) if group.kind.wraps else made[0]


def local_results(group: Group, value: Any) -> tuple[Any, ...]:
    """Returns a value's local components; see `Strategy.experimental_local_results`.  Clauses: V-5."""
    if not group.kind.wraps:
        return (value,)
    require_each_replica(group, "local results")
    value = group.frontend.unwrap(value)
    if isinstance(value, DistributedValues):
        return value.values
    if isinstance(value, Variable):
        return value.components if is_distributed(value.state.group, value) else (value,)
    if tree.is_leaf(value) or group.semantics.local_results_of_nests == "keep":
        return (value,)
    whole = tree.map_leaves(lambda leaf: _components_of(group.frontend.unwrap(leaf)), value)
    return tuple(select(index, whole) for index in range(len(group.local_devices)))


def _components_of(leaf: Any) -> Any:
    distributed = isinstance(leaf, Variable) and is_distributed(leaf.state.group, leaf)
    return Mirrored(leaf.components) if distributed else leaf
