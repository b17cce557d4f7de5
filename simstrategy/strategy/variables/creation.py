"""How a variable comes to be: what it is to be like, its first value, its name, and its components.

Made in a scope, where no strategy is current, or by all replicas together, who then get one variable. It
neither reads nor writes one.
"""

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from simstrategy.device import Array, Cell, canonical_dtype
from simstrategy.errors import CannotCompile, InvalidArgument
from simstrategy.strategy.enums import (
    VariableAggregation,
    VariableSynchronization,
    aggregation_of,
    synchronization_of,
)
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.variables.policies import Policy, has_one_component, policy_of
from simstrategy.trace import Request

if TYPE_CHECKING:
    from simstrategy.strategy.context import Mode
    from simstrategy.strategy.engine import Engine

__all__ = [
    "Plan",
    "creator_in",
    "initial_array",
    "make_cells",
    "name_of",
    "plan_of",
    "request_in_replica",
    "short_forms",
]


class Plan(NamedTuple):
    """What a variable is to be like."""

    engine: "Engine"
    policy: Policy
    name: str
    synchronization: VariableSynchronization
    aggregation: VariableAggregation
    trainable: bool
    shape: tuple[int, ...]
    dtype: str

    def request(self, name: str | None = None) -> Request:
        """Returns what is asked of a meeting: all replicas, or all workers, must make the same variable."""
        words = [self.name if name is None else name, self.synchronization.name]
        words += ["trainable"] if self.trainable else []
        form = (self.shape, self.dtype)
        return Request("variable", self.aggregation.value, None, " ".join(words), None, (form,))

    def named(self, name: str) -> "Plan":
        """Returns the plan with another name."""
        engine, policy, _, synchronization, aggregation, trainable, shape, dtype = self
        return Plan(engine, policy, name, synchronization, aggregation, trainable, shape, dtype)


def creator_in(mode: "Mode | None") -> "Engine":
    """Returns the engine whose variable is made in a mode: the default strategy's where there is none."""
    if mode is not None:
        if mode.engine.tracing is not None:
            raise CannotCompile(
                "A compiled step makes a Variable, which would be another one in every step. Make it before, in the "
                "strategy's scope."
            )
        return mode.engine
    # The default strategy is a Strategy, which knows variables: no floor is below both.
    from simstrategy.strategy.current import default_strategy  # noqa: PLC0415

    return default_strategy().extended.engine


def initial_array(engine: "Engine", value: Any, dtype: Any, index: int) -> Array:
    """Returns a first value on local replica `index`'s device, in the wanted dtype; calls what can be called."""
    wanted = None if dtype is None else canonical_dtype(dtype)
    if wanted is not None and wanted not in engine.backend.capabilities.dtypes:
        raise InvalidArgument(
            f"There is no dtype {wanted!r} on backend {engine.backend.name!r}; choose from "
            f"{', '.join(sorted(engine.backend.capabilities.dtypes))}."
        )
    with engine.backend.on(engine.local_devices[index]):
        array = engine.adopt(value() if callable(value) else value, index, dtype=wanted)
        if wanted is not None and engine.spec(array)[1] != wanted:
            array = engine.xp.astype(array, wanted)
    return array


def plan_of(
    engine: "Engine", array: Array, name: Any, synchronization: Any, aggregation: Any, trainable: bool | None
) -> Plan:
    """Returns the plan of a variable that begins with an array.  Raises InvalidArgument for what cannot be."""
    if name is None:
        # Of no strategy: a number would tell how many were made before, by whomever.
        name = "Variable" if engine.kind is DEFAULT else f"Variable_{len(engine.created)}"
    name, one = str(name), has_one_component(engine.kind)
    if one and synchronization is None:
        synchronization = VariableSynchronization.AUTO
    if not one or not isinstance(synchronization, VariableSynchronization):
        synchronization = synchronization_of(synchronization, name)
    aggregation = aggregation_of(aggregation, name)
    on_read = synchronization is VariableSynchronization.ON_READ
    if on_read and trainable and not one and engine.semantics.on_read_trainable == "refuse":
        raise InvalidArgument(
            f"Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
            f"Make variable {name!r} with trainable=False, or use Semantics.TF1_15 or TF2."
        )
    shape, dtype, _ = engine.spec(array)
    averages = not one and aggregation is VariableAggregation.MEAN
    if averages and engine.semantics.integer_mean_variable == "refuse" and not dtype.startswith(("float", "bfloat")):
        raise InvalidArgument(
            f"Variable {name!r}: aggregation MEAN needs a floating dtype, and it is {dtype}. Make it float32, or "
            f"choose another aggregation."
        )
    policy = policy_of(engine.kind, len(engine.local_devices), engine.semantics, synchronization, aggregation)
    trains = (not on_read) if trainable is None else bool(trainable)
    return Plan(engine, policy, name, synchronization, aggregation, trains, tuple(shape), canonical_dtype(dtype))


def make_cells(plan: Plan, array: Array) -> tuple[Cell, ...]:
    """Returns a variable's storage on every device that has a component, with rank 0's array."""
    engine = plan.engine
    if has_one_component(engine.kind):
        return (engine.backend.cell(engine.backend.put(array, engine.local_devices[0])),)
    return tuple([engine.backend.cell(one) for one in engine.from_rank_0(array, plan.shape, plan.dtype)])


_NUMBERED: Final = re.compile(r"^(.+)_(\d{1,18})$", re.ASCII | re.DOTALL)


def request_in_replica(plan: Plan) -> tuple[Request, int]:
    """Returns a replica's request for a variable, and the number at the end of its name.

    The number may differ between replicas, as a size may in a gather; it is sent as 1 and its digits.
    """
    match = _NUMBERED.match(plan.name)
    return (plan.request(), 0) if match is None else (plan.request(match[1]), int(f"1{match[2]}"))


def name_of(plan: Plan, number: int) -> str:
    """Returns the name with the number at its end that rank 0 chose; see `request_in_replica`."""
    match = _NUMBERED.match(plan.name)
    stem = plan.name if match is None else match[1]
    return f"{stem}_{str(number)[1:]}" if number else stem


def short_forms(
    engine: "Engine", policy: Policy, cells: tuple[Cell, ...], shape: tuple[int, ...], dtype: str
) -> tuple[object, ...]:
    """Returns the form of what each local replica may write the short way; nothing where it may not.

    See `device.Forms`.
    """
    if policy.replica_write != "reduce" or len(cells) != len(engine.local_devices):
        return ()
    if engine.form != engine.spec:
        return tuple([engine.form(cell.read()) for cell in cells])
    return tuple([(shape, dtype, device.placement) for device in engine.local_devices])
