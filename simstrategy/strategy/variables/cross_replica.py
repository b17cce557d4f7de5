"""Reads and writes of variables outside their replicas: the value read, and the value written to each component.

In a scope, in a merge function, where no strategy is current, and inside another strategy.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from simstrategy.device import Array
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.strategy.enums import VariableAggregation
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import Mode, require_each_replica
from simstrategy.strategy.reductions.leaf import reduce_leaf
from simstrategy.strategy.variables.state import VariableState, variable_request
from simstrategy.trace import Site, describe_site
from simstrategy.values import Mirrored, PerReplica

__all__ = [
    "is_foreign",
    "move_to_current",
    "operand",
    "read_across",
    "read_outside",
    "read_written",
    "require_cross_write",
    "require_own",
    "tracing_twin",
    "updated_component",
    "write_across",
]

V = TypeVar("V")

Adopt = Callable[[Any, int, str, Site], Array]
"""Brings a value to a component's device and checks its form: value, index, kind of write, call site."""


def tracing_twin(variable: V, group: Group, mode: Mode | None) -> V | None:
    """Returns the variable that replaces one of a group while a step of its strategy is traced, else None."""
    tracing = None if mode is None else mode.group.tracing
    if tracing is None or tracing.origin is not group:
        return None
    twin: V = tracing.traced_variable(variable)
    return twin


def is_foreign(group: Group, mode: Mode | None) -> bool:
    """Returns whether a strategy other than a variable's own is current."""
    return mode is not None and mode.group is not group and mode.group.kind is not DEFAULT


def _is_outside(mode: Mode | None) -> bool:
    return mode is None or mode.group.kind is DEFAULT


def updated_component(group: Group, mode: Mode | None) -> int | None:
    """Returns the index of the component that the running function of an update writes, else None."""
    return mode.updating if mode is not None and mode.group is group else None


def move_to_current(array: Array, owner: Group, mode: Mode | None) -> Array:
    """Returns an array [any shape] of a variable's group on the current device, which may be of another backend."""
    if mode is None or (mode.group is owner and mode.replica is None):
        return array
    if not isinstance(array, mode.group.array_types):
        array = owner.backend.get(array)
    return mode.group.adopt(array, mode.index)


def read_written(variable: VariableState, mode: Mode | None, site: Site) -> Any:
    """Returns what a write outside the variable's replicas returns: the new value, as it is read there."""
    group, layout = variable.group, variable.policy.layout
    if layout == "mirrored":
        require_each_replica(group, "the components of a variable")
        return Mirrored(variable.components)
    if layout == "per_replica":
        returns = group.semantics.on_read_cross_write_returns == "value"
        return read_across(variable, site) if returns and variable.policy.cross_read != "refuse" else None
    return move_to_current(variable.storage.cells[0].read(), group, mode)


def require_own(variable: VariableState, mode: Mode | None, call: str, site: Site) -> None:
    """Raises ContextError inside another strategy, and outside a scope where the semantics require one."""
    group = variable.group
    if mode is not None and is_foreign(group, mode):
        raise ContextError(
            f"Mixing different strategies: {call} on variable {variable.name!r} of {group.owner!r} inside "
            f"{mode.group.owner!r} ({describe_site(site)}). Leave the other strategy's scope first."
        )
    distributed = variable.policy.layout in ("mirrored", "per_replica")
    if call.startswith("assign") and distributed and _is_outside(mode) and group.semantics.outside_scope == "refuse":
        raise ContextError(
            f'Need to be inside "with strategy.scope()" for {group.owner!r}: {call} on variable '
            f"{variable.name!r} at {describe_site(site)}. Enter the scope, or use Semantics.TF1_15 or TF2, which do "
            f"not ask for it."
        )


def read_outside(variable: VariableState, mode: Mode | None, method: str, site: Site) -> Array:
    """Returns the result of a method of reading outside the variable's replicas, on the variable's device."""
    group, layout = variable.group, variable.policy.layout
    if layout in ("single", "shared"):
        return variable.components[0]
    index = updated_component(group, mode)
    if index is not None:
        return variable.components[index]
    if is_foreign(group, mode) and layout == "mirrored":
        group.variables.check(variable)
        return variable.components[0]
    require_own(variable, mode, method, site)
    if layout == "per_replica" and _is_outside(mode) and method in group.semantics.first_component_outside_scope:
        if variable.aggregation in (VariableAggregation.SUM, VariableAggregation.MEAN):
            group.variables.warn_of_share(variable, method, site)
        return variable.components[0]
    return read_across(variable, site)


def read_across(variable: VariableState, site: Site) -> Array:
    """Returns a variable's value in its strategy's cross-replica context; all workers take part.  Clauses: U-4."""
    group, how = variable.group, variable.policy.cross_read
    if how == "refuse":
        raise InvalidArgument(
            f"Could not convert from VariableAggregation.NONE to ReduceOp: variable {variable.name!r} is ON_READ "
            f"without an aggregation, so it has no value outside replicas ({describe_site(site)}). Give it an "
            f"aggregation, or read it inside run."
        )
    if how == "reduce":
        op = "MEAN" if variable.aggregation.name == "MEAN" else "SUM"
        total: Array = reduce_leaf(group, op, PerReplica(variable.components), None, site, variable=variable.identity)
        return total
    first: Array = variable.components[0]
    if variable.policy.layout != "per_replica" or group.coordinator.processes == 1:
        group.variables.check(variable)
        return first
    group.coordinator.agree(variable_request(variable, "read"), site)
    return group.reductions.from_rank_0(first, variable.shape, variable.dtype)[0]


def write_across(variable: VariableState, kind: str, value: Any, adopt: Adopt, site: Site) -> None:
    """Writes every component, outside replica functions; all workers take part.

    value: one value for all, or distributed components. Clauses: U-5, U-9.
    """
    arrays, apart = _arrays_across(variable, kind, value, adopt, site)
    observer = variable.group.coordinator.observer
    if observer is None:
        _write_arrays(variable, kind, arrays, apart, site)
    else:
        observer.outside(
            arrays,
            lambda: _write_arrays(variable, kind, arrays, apart, site),
            lambda _: observer.components(variable.storage.cells),
        )


def _write_arrays(variable: VariableState, kind: str, arrays: tuple[Array, ...], apart: bool, site: Site) -> None:
    group, storage = variable.group, variable.storage
    prints: tuple[int, ...] = ()
    if variable.policy.layout == "mirrored":
        prints = group.variables.fingerprints(arrays, apart=apart)
    everywhere = group.coordinator.agree(variable_request(variable, kind), site, prints)
    group.variables.compare(everywhere, variable, kind, site)
    if apart and not (prints and all(one == prints[0] for one in prints)):
        storage.write_each(kind, arrays)
    else:
        storage.write_same(kind, arrays)


def _arrays_across(
    variable: VariableState, kind: str, value: Any, adopt: Adopt, site: Site
) -> tuple[tuple[Array, ...], bool]:
    """Returns what a write gives each component, and whether the components were given one by one."""
    given = _given(variable, kind, value, site)
    apart = any(one is not given[0] for one in given)
    if variable.policy.cross_write == "share":
        share = _shared_out(variable.group, variable.name, adopt(given[0], 0, kind, site), site)
        given, apart = (share,) * len(given), False
    return tuple([adopt(one, index, kind, site) for index, one in enumerate(given)]), apart


def require_cross_write(variable: VariableState, kind: str, site: Site) -> None:
    """Raises where a variable takes no such write outside replica functions."""
    policy = variable.policy
    if (
        policy.layout == "per_replica"
        and kind != "assign"
        and variable.group.semantics.on_read_cross_update == "refuse"
    ):
        raise ContextError(
            f"Replica-local variables may only be assigned in a replica context: {kind} of the ON_READ variable "
            f"{variable.name!r} at {describe_site(site)}. Use assign, or {kind} in a replica function."
        )
    if policy.cross_write == "share" and kind != "assign":
        raise InvalidArgument(
            f"An ON_READ variable does not support `{kind}` in a cross-replica context when its aggregation is "
            f"SUM: variable {variable.name!r} at {describe_site(site)}. Whether each replica or the total should "
            f"change is not known; use assign, or {kind} in a replica function."
        )


def operand(variable: VariableState, value: VariableState) -> Any:
    """Returns the components of another variable, which become a variable's; None where the two do not match."""
    components = value.components if value.group is variable.group else ()
    if value.policy.layout == "mirrored" and len(components) == len(variable.components):
        return Mirrored(components)
    if variable.policy.layout == "mirrored" and value.policy.layout == "per_replica" and components:
        return PerReplica(components)
    return None


def _given(variable: VariableState, kind: str, value: Any, site: Site) -> tuple[Any, ...]:
    own, count = variable.policy.layout == "per_replica", len(variable.components)
    if isinstance(value, PerReplica) and (own or (count == 1 and len(value.values) > 1)):
        what = "each replica writes its component" if own else "it has one for all replicas"
        raise InvalidType(
            f"{kind} of variable {variable.name!r} at {describe_site(site)} takes one value and got a PerReplica: "
            f"{what}. Reduce it first, or {kind} inside a replica function."
        )
    if not isinstance(value, (PerReplica, Mirrored)):
        return (value,) * count
    if len(value.values) != count and (count > 1 or isinstance(value, PerReplica)):
        raise InvalidArgument(
            f"{kind} of variable {variable.name!r} at {describe_site(site)} got {len(value.values)} components for "
            f"{count} replicas. Pass a value made by this strategy."
        )
    return value.values[:count]


def _shared_out(group: Group, name: str, array: Array, site: Site) -> Any:
    """Returns each replica's share of a total that is assigned to an ON_READ variable with SUM.

    1.x multiplies by 1 / N and refuses integers; 2.x divides, integers toward zero. Source: TensorFlow
    1.15.5 and 2.21.0, as measured.
    """
    dtype, count = group.spec(array)[1], len(group.backend.devices)
    if dtype == "bool":
        raise InvalidArgument(
            f"assign of the ON_READ variable {name!r} at {describe_site(site)} shares a total out over the replicas, "
            f"and bool has no sum. Make the variable int32 or float32, or choose another aggregation."
        )
    integer = dtype != "bfloat16" and np.dtype(dtype).kind in "iu"
    if group.semantics.on_read_sum_assign == "multiply":
        if integer:
            raise InvalidArgument(
                f"assign of the ON_READ variable {name!r} at {describe_site(site)}: {dtype} cannot be shared out by "
                f"multiplication. Use a floating dtype, or Semantics.TF2."
            )
        return group.xp.multiply(array, 1.0 / count)
    if integer:
        host = group.backend.get(array)
        return np.asarray(np.trunc(host.astype(np.float64) / count), host.dtype)
    return group.xp.divide(array, float(count))
