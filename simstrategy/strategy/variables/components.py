"""One component of a variable, on its device: what the function of an update receives.

It reads and writes that component alone, without the other replicas; rules of aggregation are in `policies.py`.
"""

import sys
from typing import Any, final

import numpy as np

from simstrategy.device import Array
from simstrategy.errors import InvalidArgument
from simstrategy.strategy.group import Group
from simstrategy.strategy.variables.state import expose
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Site, describe_site
from simstrategy.values import Component

__all__ = ["VariableComponent", "container_of"]


@final
class VariableComponent(Component):
    """A variable's component on one local replica's device.  Made by `extended.update`."""

    __slots__ = ("_cell", "_group")

    def __init__(self, group: Group, variable: Variable, index: int) -> None:
        self.container: Variable = variable
        self.index = index
        self._group = group
        self._cell = variable.state.storage.cells[index]

    def __repr__(self) -> str:
        return f"<Component {self.index} of {self.container!r}>"

    @property
    def name(self) -> str:
        """The variable's name; `/replica_1` and so on is added after the first."""
        return self.container.name + (f"/replica_{self.index}" if self.index else "")

    @property
    def dtype(self) -> str:
        return self.container.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.container.shape

    @property
    def device(self) -> str:
        """The placement of the component."""
        return self._group.local_devices[self.index].placement

    @property
    def native(self) -> Any:
        """The framework's variable; see `Variable.native`."""
        state = self.container.state
        if not state.storage.is_exposed:
            expose(state, self._cell, self._group.source(sys._getframe(1)))
        return self._cell.native

    def value(self) -> Array:
        """Returns the component's value, on its device."""
        return self._cell.read()

    read_value = here = value

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns the value as a host copy."""
        return self._group.backend.get(self._cell.read())

    def __float__(self) -> float:
        return float(self.numpy())

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def assign(self, value: Any) -> "VariableComponent":
        """Replaces this component's value.  Raises InvalidArgument for another shape or dtype."""
        return self._write("assign", value, self._group.source(sys._getframe(1)))

    def assign_add(self, delta: Any) -> "VariableComponent":
        """Adds to this component's value."""
        return self._write("assign_add", delta, self._group.source(sys._getframe(1)))

    def assign_sub(self, delta: Any) -> "VariableComponent":
        """Subtracts from this component's value."""
        return self._write("assign_sub", delta, self._group.source(sys._getframe(1)))

    def _write(self, kind: str, value: Any, site: Site) -> "VariableComponent":
        group, variable = self._group, self.container.state
        array = group.adopt(value, self.index, dtype=variable.dtype)
        shape, dtype, _ = group.spec(array)
        if (shape, dtype) != (variable.shape, variable.dtype):
            raise InvalidArgument(
                f"{kind} of {self.name!r} at {describe_site(site)} got {dtype}{list(shape)}, and the variable is "
                f"{variable.dtype}{list(variable.shape)}. Reshape or cast the value: a variable never changes its form."
            )
        variable.storage.write_in_update(kind, self.index, array, site, group.variables.journal)
        if variable.policy.layout == "mirrored":
            group.variables.written(variable, kind, site)
        return self


def container_of(group: Group, value: Any) -> Any:
    """Returns the variable that a component, or a variable of the framework, belongs to; any other value unchanged."""
    if isinstance(value, Component):
        return value.container
    value = group.frontend.unwrap(value)
    for variable in group.variables.created:
        # Where what is read is the native object, as where arrays never change, it is a value and no variable.
        if any(cell.native is value and cell.read() is not value for cell in variable.state.storage.cells):
            return variable
    return value
