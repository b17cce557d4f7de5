"""One component of a variable, on its device: what the function of an update is given.

It reads and writes that component alone, so it meets nobody: rules of aggregation are in `policies.py`.
"""

import sys
from typing import TYPE_CHECKING, Any, final

import numpy as np

from simstrategy.device import Array
from simstrategy.errors import InvalidArgument
from simstrategy.strategy.variables.variable import Variable
from simstrategy.trace import Site, describe_site
from simstrategy.values import Component

if TYPE_CHECKING:
    from simstrategy.strategy.engine import Engine

__all__ = ["VariableComponent", "container_of"]


@final
class VariableComponent(Component):
    """A variable's component on one local replica's device.  Made by `extended.update`."""

    __slots__ = ("_cell", "_engine")

    def __init__(self, engine: "Engine", variable: Variable, index: int) -> None:
        self.container: Variable = variable
        self.index = index
        self._engine = engine
        self._cell = variable.storage.cells[index]

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
        return self._engine.local_devices[self.index].placement

    @property
    def native(self) -> Any:
        """The framework's variable."""
        return self._cell.native

    def value(self) -> Array:
        """Returns the component's value, on its device."""
        return self._cell.read()

    read_value = value

    def numpy(self) -> np.ndarray[Any, Any]:
        """Returns the value as a host copy."""
        return self._engine.backend.get(self._cell.read())

    def __float__(self) -> float:
        return float(self.numpy())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.numpy(), dtype)

    def assign(self, value: Any) -> "VariableComponent":
        """Replaces this component's value.  Raises InvalidArgument for another shape or dtype."""
        return self._write("assign", value, self._engine.source(sys._getframe(1)))

    def assign_add(self, delta: Any) -> "VariableComponent":
        """Adds to this component's value."""
        return self._write("assign_add", delta, self._engine.source(sys._getframe(1)))

    def assign_sub(self, delta: Any) -> "VariableComponent":
        """Subtracts from this component's value."""
        return self._write("assign_sub", delta, self._engine.source(sys._getframe(1)))

    def _write(self, kind: str, value: Any, site: Site) -> "VariableComponent":
        engine, variable = self._engine, self.container
        array = engine.adopt(value, self.index, dtype=variable.dtype)
        shape, dtype, _ = engine.spec(array)
        if (shape, dtype) != (variable.shape, variable.dtype):
            raise InvalidArgument(
                f"{kind} of {self.name!r} at {describe_site(site)} got {dtype}{list(shape)}, and the variable is "
                f"{variable.dtype}{list(variable.shape)}. Reshape or cast the value: a variable never changes its form."
            )
        variable.storage.write_own(kind, self.index, array)
        if variable.policy.layout == "mirrored":
            engine.divergence.written(variable, kind, site)
        return self


def container_of(engine: "Engine", value: Any) -> Any:
    """Returns the variable of which a value is a component, or the framework's own variable; else the value itself."""
    if isinstance(value, Component):
        return value.container
    value = engine.own(value)
    for variable in engine.created:
        if any(cell.native is value for cell in variable.storage.cells):
            return variable
    return value
