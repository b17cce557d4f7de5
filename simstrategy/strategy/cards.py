"""What notebooks show of a strategy and of a variable: tables of devices and of components."""

from itertools import zip_longest
from typing import Protocol

from simstrategy.notebook import card, component_cells
from simstrategy.strategy.group import Group
from simstrategy.strategy.variables.state import VariableState

__all__ = ["replica_text", "strategy_card", "strategy_text", "variable_card"]


class _Variable(Protocol):
    """A variable, for what is shown of it."""

    @property
    def state(self) -> VariableState: ...


class _Strategy(Protocol):
    """A strategy, for what is shown of it."""

    _group: Group


class _Replica(Protocol):
    """A replica context, for what is shown of it."""

    @property
    def group(self) -> Group: ...
    @property
    def index(self) -> int: ...


def strategy_text(strategy: _Strategy) -> str:
    """Returns the repr of a strategy."""
    group = strategy._group  # noqa: SLF001 - this is a method of its class
    backend = group.backend
    return f"<Strategy on {backend.name!r}: {group.num_replicas} replicas, {len(backend.local_devices)} here>"


def replica_text(context: _Replica) -> str:
    """Returns the repr of a replica context."""
    device = context.group.local_devices[context.index]
    return f"<ReplicaContext: replica {device.rank} of {context.group.num_replicas}, on {device.placement}>"


def strategy_card(strategy: _Strategy) -> str:
    """Returns a table of the devices of a strategy as HTML; at most 32 of them."""
    group = strategy._group  # noqa: SLF001 - this is a method of its class
    here = frozenset(device.rank for device in group.local_devices)
    rows = (
        [str(device.rank), str(device.process), device.placement, "yes" if device.rank in here else "no"]
        for device in group.backend.devices
    )
    title = f"Strategy on {group.backend.name!r}: {group.num_replicas} replicas"
    return card(title, ["replica", "worker", "device", "here"], rows, total=len(group.backend.devices))


def variable_card(variable: _Variable) -> str:
    """Returns a table of the components of a variable in this process as HTML; at most 32 of them.

    A component that differs from the first one is marked, unless each replica has a value of its own on purpose.
    """
    state, components = variable.state, variable.state.components
    first = [components[0]] if state.policy.layout == "mirrored" else components
    pairs = zip_longest(components, first, fillvalue=components[0])
    rows = (
        component_cells(str(device.rank), value, other)
        for device, (value, other) in zip(state.group.local_devices, pairs, strict=False)
    )
    title = f"Variable {state.name!r} {state.dtype}{list(state.shape)}"
    notes = (f"synchronization {state.synchronization.name}, aggregation {state.aggregation.name}",)
    return card(title, ["replica", "component"], rows, total=len(components), notes=notes)
