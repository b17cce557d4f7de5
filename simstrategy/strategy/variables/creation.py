"""Creation of a variable: its plan, its first value, its name, and its components.

In a scope, where no strategy is current, or by all replicas together, which then receive one variable. It neither reads
nor writes one.
"""

import re
from collections.abc import Callable
from types import NoneType
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from simstrategy.device import Array, Cell, canonical_dtype
from simstrategy.errors import CannotCompile, InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.strategy.enums import (
    VariableAggregation,
    VariableSynchronization,
    aggregation_of,
    synchronization_of,
)
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import Mode
from simstrategy.strategy.opening import default_group
from simstrategy.strategy.variables.policies import Policy, has_one_component, policy_of
from simstrategy.strategy.variables.state import VariableState
from simstrategy.trace import Request, Site

__all__ = [
    "Plan",
    "creator_in",
    "initial_array",
    "made_outside",
    "make_state",
    "name_of",
    "plan_of",
    "request_in_replica",
]


V = TypeVar("V")


class Plan(NamedTuple):
    """What a variable is to be like."""

    group: Group
    policy: Policy
    name: str
    synchronization: VariableSynchronization
    aggregation: VariableAggregation
    trainable: bool
    shape: tuple[int, ...]
    dtype: str

    def request(self, name: str | None = None) -> Request:
        """Returns the request: all replicas, or all workers, must make the same variable."""
        words = [self.name if name is None else name, self.synchronization.name]
        words += ["trainable"] if self.trainable else []
        form = (self.shape, self.dtype)
        return Request("variable", self.aggregation.value, None, " ".join(words), None, (form,))

    def named(self, name: str) -> "Plan":
        """Returns the plan with another name."""
        group, policy, _, synchronization, aggregation, trainable, shape, dtype = self
        return Plan(group, policy, name, synchronization, aggregation, trainable, shape, dtype)


def creator_in(mode: Mode | None) -> Group:
    """Returns the group whose variable is made in a mode: the default strategy's where there is none."""
    if mode is not None:
        if mode.group.tracing is not None:
            raise CannotCompile(
                "A compiled step makes a Variable, which would be another one in every step. Make it before, in the "
                "strategy's scope."
            )
        return mode.group
    return default_group()


def initial_array(group: Group, value: Any, dtype: Any, index: int) -> Array:
    """Returns a first value on local replica `index`'s device, in the wanted dtype; calls what can be called."""
    wanted = None if dtype is None else canonical_dtype(dtype)
    if wanted is not None and wanted not in group.backend.capabilities.dtypes:
        raise InvalidArgument(
            f"There is no dtype {short_repr(wanted)} on backend {group.backend.name!r}; choose from "
            f"{', '.join(sorted(group.backend.capabilities.dtypes))}."
        )
    with group.backend.on(group.local_devices[index]):
        array = group.adopt(value() if callable(value) else value, index, dtype=wanted)
        if wanted is not None and group.spec(array)[1] != wanted:
            array = group.xp.astype(array, wanted)
    return array


def plan_of(
    group: Group, array: Array, name: Any, synchronization: Any, aggregation: Any, trainable: bool | None
) -> Plan:
    """Returns the plan of a variable that begins with an array [any shape].

    Raises InvalidArgument for an impossible synchronization or aggregation.
    """
    if name is None:
        # Of no strategy: a number would depend on all variables made before in the process.
        name = "Variable" if group.kind is DEFAULT else f"Variable_{len(group.variables.created)}"
    name, one = str(name), has_one_component(group.kind)
    if one and synchronization is None:
        synchronization = VariableSynchronization.AUTO
    if not one or not isinstance(synchronization, VariableSynchronization):
        synchronization = synchronization_of(synchronization, name)
    aggregation = aggregation_of(aggregation, name)
    if not isinstance(trainable, (int, np.bool_, NoneType)):
        raise InvalidType(f"Variable {name!r}: trainable is True, False or None, got {trainable!r}. Pass one of these.")
    on_read = synchronization is VariableSynchronization.ON_READ
    if on_read and trainable and not one and group.semantics.on_read_trainable == "refuse":
        raise InvalidArgument(
            f"Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables. "
            f"Make variable {name!r} with trainable=False, or use Semantics.TF1_15 or TF2."
        )
    shape, dtype, _ = group.spec(array)
    averages = not one and aggregation is VariableAggregation.MEAN
    if averages and group.semantics.integer_mean_variable == "refuse" and not dtype.startswith(("float", "bfloat")):
        raise InvalidArgument(
            f"Variable {name!r}: aggregation MEAN needs a floating dtype, and it is {dtype}. Make it float32, or "
            f"choose another aggregation."
        )
    policy = policy_of(group.kind, len(group.local_devices), group.semantics, synchronization, aggregation)
    trains = (not on_read) if trainable is None else bool(trainable)
    return Plan(group, policy, name, synchronization, aggregation, trains, tuple(shape), canonical_dtype(dtype))


def make_state(plan: Plan, array: Array, made: Site) -> VariableState:
    """Returns the state of a planned variable, with rank 0's array [plan.shape] in every component.

    made: where the program makes it.
    """
    group = plan.group
    cells: tuple[Cell, ...]
    if has_one_component(group.kind):
        cells = (group.backend.cell(group.backend.put(array, group.local_devices[0])),)
    else:
        first = group.reductions.from_rank_0(array, plan.shape, plan.dtype)
        cells = tuple([group.backend.cell(one) for one in first])
    return VariableState(*plan, cells, group.variables.identify(plan.name, made))


def made_outside(plan: Plan, array: Array, site: Site, make: Callable[[Plan, Array, Site], V]) -> V:
    """Returns the variable that `make` makes of a plan outside replica functions, on all workers.

    array: its first value, [plan.shape]. make: takes plan, array and site.
    """
    group = plan.group

    def agreed() -> V:
        group.coordinator.agree(plan.request(), site)
        return make(plan, array, site)

    if group.coordinator.observer is None:
        return agreed()
    return group.coordinator.observer.outside([array] * len(group.local_devices), agreed, lambda _: ())


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
