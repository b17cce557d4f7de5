"""NumPy arrays whose class is their device.

Each device has its own subclass of ndarray, and NumPy keeps the class in every operation. An array that several
replicas share is read-only; a write raises InvalidArgument. `x += y` and its like give a new array.
"""

from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ClassVar, Final, TypeVar, final

import numpy as np

from simstrategy.device import Device
from simstrategy.device.terms import Operand
from simstrategy.errors import InvalidArgument
from simstrategy.sim.mixed import masked, mixed

__all__ = [
    "NUMBERS",
    "Host",
    "Placement",
    "SimArray",
    "array_class",
    "current_class",
    "freeze",
    "seal",
    "set_writeable",
    "view",
]


Host = np.ndarray[Any, Any]
K = TypeVar("K", bound=Host)


class SimArray(Host):
    """An array on a simulated device.  Only classes that `array_class` makes have instances.

    Writes to its elements raise InvalidArgument if the array is read-only.  Clauses: E-5
    """

    __slots__ = ()
    rank: ClassVar[int]
    placement: ClassVar[str]

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise _read_only(self)
        np.ndarray.__setitem__(self, key, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Host data: the device belongs to a backend, which another process does not have.
        return np.array(self).__reduce_ex__(protocol)


view: Final[Callable[[Host, type[K]], K]] = np.ndarray.view
"""`ndarray.view`, looked up once: a look-up on each device's class takes far longer."""


Operator = Callable[[SimArray, Operand], Host]
NUMBERS: Final = (float, int)
"""The types of Python's numbers that take the dtype of the array beside them."""


def _operator(name: str, ufunc: np.ufunc) -> Operator:
    """Makes a binary operator that views the result as the class: NumPy's way for subclasses is 1.5 times slower."""
    inherited: Callable[..., Host] = getattr(np.ndarray, name)
    takes_masks = ufunc is np.multiply  # what is looked for first there: an exception costs more than the product

    def operator(self: SimArray, other: Operand) -> Host:
        kind = type(self)
        if type(other) is kind or type(other) in NUMBERS:
            try:
                if takes_masks and type(other) is kind and self.dtype.num != other.dtype.num:
                    result = masked(ufunc, self, other)
                    result = mixed(ufunc, (self, other)) if result is None else result
                else:
                    result = ufunc(self, other, casting="no", subok=False)
            except (TypeError, OverflowError) as error:
                result = _cast(ufunc, (self, other), error)
            try:
                return view(result, kind)
            except TypeError:  # a number: of two arrays without axes, or of two vectors
                return np.asarray(result).view(kind)
        return inherited(self, other)

    operator.__name__ = name
    return operator


def _reflected(name: str, ufunc: np.ufunc) -> Operator:
    """Makes a binary operator whose array stands on the right, as `_operator`."""
    inherited: Callable[..., Host] = getattr(np.ndarray, name)

    def operator(self: SimArray, other: Operand) -> Host:
        if type(other) in NUMBERS:
            try:
                result = ufunc(other, self, casting="no", subok=False)
            except (TypeError, OverflowError) as error:
                result = _cast(ufunc, (other, self), error)
            return np.asarray(result).view(type(self))
        return inherited(self, other)

    operator.__name__ = name
    return operator


def _cast(ufunc: np.ufunc, operands: tuple[Operand, Operand], error: Exception) -> Host:
    """Computes what NumPy has refused: dtypes that are not equal, or a number that the dtype lacks."""
    result: Host | None = mixed(ufunc, operands, floats=ufunc is np.true_divide)
    if result is None:
        raise error
    return result


def _in_place(name: str) -> Operator:
    """Makes an operator such as `+=` that gives its name a new array: an array that others hold does not change."""
    operation: Callable[..., Host] = getattr(SimArray, name)

    def operator(self: SimArray, other: Operand) -> Host:
        return operation(self, other)

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
_REFLECTED: Final = ("add", "sub", "mul", "truediv")
for _name, _ufunc in _OPERATORS.items():
    setattr(SimArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
for _name in _REFLECTED:
    setattr(SimArray, f"__r{_name}__", _reflected(f"__r{_name}__", _OPERATORS[_name]))
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    setattr(SimArray, f"__i{_name}__", _in_place(f"__{_name}__"))


def _read_only(array: SimArray) -> InvalidArgument:
    return InvalidArgument(
        f"This {array.dtype}{list(array.shape)} on {array.placement} is read-only: replicas may share its memory. "
        f"Copy first: x = x.copy(), or compute a new array, as in x = x + 1."
    )


def array_class(device: Device) -> type[SimArray]:
    """Makes the class of the arrays of a device."""
    return type("SimArray", (SimArray,), {"__slots__": (), "rank": device.rank, "placement": device.placement})


set_writeable: Final[Any] = np.ndarray.setflags
"""`set_writeable(array, False)` makes an array read-only, three times faster than its `flags`."""


def freeze(array: np.ndarray[Any, Any], kind: type[SimArray]) -> SimArray:
    """Makes an array [...] read-only and returns it on a device; no writable view of it may exist."""
    set_writeable(array, False)  # before the view: NumPy makes no view writable whose memory is read-only
    return array.view(kind)


def seal(array: np.ndarray[Any, Any]) -> None:
    """Makes an array [...] and the arrays that it is a view of read-only: memory that no program holds."""
    one: Any = array
    while isinstance(one, np.ndarray):
        set_writeable(one, False)
        one = one.base


_NOWHERE: Final[tuple[type[SimArray] | None, Any]] = (None, None)
_PLACED: ContextVar[tuple[type[SimArray] | None, Any]] = ContextVar("simstrategy.sim.device", default=_NOWHERE)
"""The class of the current device, and the earlier value of this variable."""


def current_class() -> type[SimArray] | None:
    """Returns the class of the current device, or None outside of `Placement`."""
    return _PLACED.get()[0]


@final
class Placement:
    """A context manager: new arrays inside are on this device.

    There is one for each device, and many tasks enter it at once; the earlier value is kept in the context variable.
    """

    __slots__ = ("_inside", "_kind")

    def __init__(self, kind: type[SimArray]) -> None:
        self._kind = kind
        self._inside = (kind, _NOWHERE)

    def __enter__(self) -> None:
        before = _PLACED.get()
        _PLACED.set(self._inside if before is _NOWHERE else (self._kind, before))

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        _PLACED.set(_PLACED.get()[1])
