"""NumPy arrays that know their device.

Each device has a class of its own, made once, and NumPy carries the class through every operation. What
several replicas share is read-only; writing to it says what to do instead.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ClassVar, Final, final

import numpy as np

from simstrategy.device import Device
from simstrategy.errors import InvalidArgument

__all__ = ["Placement", "SimArray", "array_class", "current_class", "freeze", "set_writeable", "view"]


class SimArray(np.ndarray[Any, Any]):
    """An array on a simulated device.  Only the classes made by `array_class` have instances."""

    __slots__ = ()
    rank: ClassVar[int]
    placement: ClassVar[str]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise _read_only(self)
        np.ndarray.__setitem__(self, key, value)


view: Final[Callable[..., Any]] = np.ndarray.view
"""Of the class that all devices' classes share: looked up on each device's own it takes far longer."""


def _in_place(name: str) -> Any:
    operation = getattr(np.ndarray, name)

    def operator(self: SimArray, other: Any) -> Any:
        if not self.flags.writeable:
            raise _read_only(self)
        return operation(self, other)

    operator.__name__ = name
    return operator


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor"):
    setattr(SimArray, f"__i{_name}__", _in_place(f"__i{_name}__"))


def _operator(name: str, ufunc: np.ufunc) -> Any:
    """Makes a binary operator: NumPy's own for a subclass takes half as long again, so the result is viewed here."""
    inherited = getattr(np.ndarray, name)

    def operator(self: SimArray, other: Any) -> Any:
        kind, of_other = type(self), type(other)
        if of_other is kind or of_other is float:
            result = ufunc(self, other, subok=False)
            try:
                return view(result, kind)
            except TypeError:  # a number: of two arrays without axes, or of two vectors
                return np.asarray(result).view(kind)
        return inherited(self, other)

    operator.__name__ = name
    return operator


_OPERATORS: Final = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "matmul": np.matmul,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
for _name, _ufunc in _OPERATORS.items():
    setattr(SimArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))


def _read_only(array: SimArray) -> InvalidArgument:
    return InvalidArgument(
        f"This {array.dtype}{list(array.shape)} on {array.placement} is read-only: replicas may share its memory. "
        f"Copy first: x = x.copy(), or compute a new array, as in x = x + 1."
    )


def array_class(device: Device) -> type[SimArray]:
    """Makes the class of the arrays of one device."""
    return type("SimArray", (SimArray,), {"__slots__": (), "rank": device.rank, "placement": device.placement})


set_writeable: Final[Any] = np.ndarray.setflags
"""`set_writeable(array, False)` makes an array read-only, three times as fast as through its `flags`."""


def freeze(array: np.ndarray[Any, Any], kind: type[SimArray]) -> SimArray:
    """Returns a read-only view [...] on a device of an array [...] to which nothing else can write."""
    frozen = array.view(kind)
    set_writeable(frozen, False)
    return frozen


_NOWHERE: Final[tuple[type[SimArray] | None, Any]] = (None, None)
_PLACED: ContextVar[tuple[type[SimArray] | None, Any]] = ContextVar("simstrategy.sim.device", default=_NOWHERE)
"""The class of the chosen device, and what this variable held before."""


def current_class() -> type[SimArray] | None:
    """Returns the class of the device that `Placement` chose, or None outside."""
    return _PLACED.get()[0]


@final
class Placement:
    """A context manager: what is created inside is on this device.

    There is one for each device, entered by many lanes at once: what was before is kept in the variable.
    """

    __slots__ = ("_inside", "_kind")

    def __init__(self, kind: type[SimArray]) -> None:
        self._kind = kind
        self._inside = (kind, _NOWHERE)

    def __enter__(self) -> None:
        before = _PLACED.get()
        _PLACED.set(self._inside if before is _NOWHERE else (self._kind, before))

    def __exit__(self, *_: object) -> None:
        _PLACED.set(_PLACED.get()[1])
