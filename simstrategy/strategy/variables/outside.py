"""Variables outside their own replicas: what is read there, and what a write gives each component.

In a scope, in a merge function, where no strategy is current, and inside another strategy. It writes nothing.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from simstrategy.device import Array
from simstrategy.errors import ContextError, InvalidArgument, InvalidType
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import CrossReplica
from simstrategy.trace import Site, describe_site
from simstrategy.values import Mirrored, PerReplica

if TYPE_CHECKING:
    from simstrategy.strategy.context import Mode
    from simstrategy.strategy.engine import Engine
    from simstrategy.strategy.variables.variable import Variable

Adopt = Callable[[Any, int, str, Site], Array]

__all__ = [
    "arrays_across",
    "is_foreign",
    "moved",
    "read_across",
    "read_outside",
    "require_own",
    "traced",
    "updated_component",
]


def traced(variable: "Variable", mode: "Mode | None") -> "Variable | None":
    """Returns what stands for the variable where a step of its strategy is traced, else None."""
    tracing = None if mode is None else mode.engine.tracing
    return None if tracing is None or tracing.origin is not variable.engine else tracing.twin(variable)


def is_foreign(engine: "Engine", mode: "Mode | None") -> bool:
    """Tells whether a strategy other than a variable's own is current."""
    return mode is not None and mode.engine is not engine and mode.engine.kind is not DEFAULT


def is_outside(mode: "Mode | None") -> bool:
    return mode is None or mode.engine.kind is DEFAULT


def updated_component(engine: "Engine", mode: "Mode | None") -> int | None:
    """Returns which component an update is about, if the function of one runs, for this engine's strategy."""
    return mode.updating if isinstance(mode, CrossReplica) and mode.engine is engine else None


def moved(array: Array, owner: "Engine", mode: "Mode | None") -> Array:
    """Returns an array of a variable's engine on the device of what runs now, which may be another backend's."""
    if mode is None or (mode.engine is owner and mode.replica is None):
        return array
    if not isinstance(array, mode.engine.array_types):
        array = owner.backend.get(array)
    return mode.engine.adopt(array, mode.index)


def require_own(variable: "Variable", mode: "Mode | None", call: str, site: Site) -> None:
    """Raises ContextError inside another strategy, and outside a scope where the semantics want one."""
    engine = variable.engine
    if mode is not None and is_foreign(engine, mode):
        raise ContextError(
            f"Mixing different strategies: {call} on variable {variable.name!r} of {engine.strategy!r} inside "
            f"{mode.strategy!r} ({describe_site(site)}). Leave the other strategy's scope first."
        )
    distributed = variable.policy.layout in ("mirrored", "own")
    if call.startswith("assign") and distributed and is_outside(mode) and engine.semantics.outside_scope == "refuse":
        raise ContextError(
            f'Need to be inside "with strategy.scope()" for {engine.strategy!r}: {call} on variable '
            f"{variable.name!r} at {describe_site(site)}. Enter the scope, or use Semantics.TF1_15 or TF2, which do "
            f"not ask for it."
        )


def read_outside(variable: "Variable", mode: "Mode | None", method: str, site: Site) -> Array:
    """Returns what a method of reading gives where none of the variable's own replicas runs, on its own device."""
    engine, layout = variable.engine, variable.policy.layout
    if layout in ("plain", "central"):
        return variable.components[0]
    index = updated_component(engine, mode)
    if index is not None:
        return variable.components[index]
    if is_foreign(engine, mode) and layout == "mirrored":
        engine.divergence.check(variable)
        return variable.components[0]
    require_own(variable, mode, method, site)
    if layout == "own" and is_outside(mode) and method in engine.semantics.first_component_outside_scope:
        return variable.components[0]
    return read_across(variable, site)


def read_across(variable: "Variable", site: Site) -> Array:
    """Returns a variable's value in its strategy's cross-replica context; all workers take part.  Clauses: U-4."""
    engine, how = variable.engine, variable.policy.cross_read
    if how == "refuse":
        raise InvalidArgument(
            f"Could not convert from VariableAggregation.NONE to ReduceOp: variable {variable.name!r} is ON_READ "
            f"without an aggregation, so it has no value outside replicas ({describe_site(site)}). Give it an "
            f"aggregation, or read it inside run."
        )
    if how == "reduce":
        op = "MEAN" if variable.aggregation.name == "MEAN" else "SUM"
        return engine.reduce_leaf(op, PerReplica(variable.components), None, site)
    first = variable.components[0]
    if variable.policy.layout != "own" or engine.room.processes == 1:
        engine.divergence.check(variable)
        return first
    engine.room.announce(variable.request("read"), site)
    return engine.from_rank_0(first, variable.shape, variable.dtype)[0]


def arrays_across(
    variable: "Variable", kind: str, value: Any, adopt: Adopt, site: Site
) -> tuple[tuple[Array, ...], bool]:
    """Returns what a write outside replica functions gives each component, and whether one by one.

    adopt: brings a value to a component's device and checks its form. Clauses: U-5, U-9.
    """
    _require_cross_write(variable, kind, site)
    given = _given(variable, kind, _operand(variable, value, site), site)
    apart = any(one is not given[0] for one in given)
    if variable.policy.cross_write == "share":
        share = _shared_out(variable.engine, variable.name, adopt(given[0], 0, kind, site), site)
        given, apart = (share,) * len(given), False
    return tuple([adopt(one, index, kind, site) for index, one in enumerate(given)]), apart


def _require_cross_write(variable: "Variable", kind: str, site: Site) -> None:
    policy = variable.policy
    if policy.layout == "own" and kind != "assign" and variable.engine.semantics.on_read_cross_update == "refuse":
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


def _operand(variable: "Variable", value: Any, site: Site) -> Any:
    """Returns a variable's components, which become another's; its value, where the two do not match."""
    if type(value) is not type(variable):
        return value
    components = value.components if value.engine is variable.engine else ()
    if value.policy.layout == "mirrored" and len(components) == len(variable.components):
        return Mirrored(components)
    if variable.policy.layout == "mirrored" and value.policy.layout == "own" and components:
        return PerReplica(components)
    return value.value_at(site)


def _given(variable: "Variable", kind: str, value: Any, site: Site) -> tuple[Any, ...]:
    own, count = variable.policy.layout == "own", len(variable.components)
    if isinstance(value, PerReplica) and (own or (count == 1 and len(value.values) > 1)):
        what = "its replicas write their own" if own else "it has one for all replicas"
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


def _shared_out(engine: "Engine", name: str, array: Array, site: Site) -> Any:
    """Returns each replica's share of a total that is assigned to an ON_READ variable with SUM.

    1.x multiplies by 1 / N and refuses integers; 2.x divides, integers toward zero. Source: TensorFlow
    1.15.5 and 2.21.0, as measured.
    """
    dtype, count = engine.spec(array)[1], len(engine.devices)
    integer = dtype != "bfloat16" and np.dtype(dtype).kind in "iu"
    if engine.semantics.on_read_sum_assign == "multiply":
        if integer:
            raise InvalidArgument(
                f"assign of the ON_READ variable {name!r} at {describe_site(site)}: {dtype} cannot be shared out by "
                f"multiplication. Use a floating dtype, or Semantics.TF2."
            )
        return engine.xp.multiply(array, 1.0 / count)
    if integer:
        host = engine.backend.get(array)
        return np.asarray(np.trunc(host.astype(np.float64) / count), host.dtype)
    return engine.xp.divide(array, float(count))
