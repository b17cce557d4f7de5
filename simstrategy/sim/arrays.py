"""NumPy arrays whose class is their device.

Each device has its own subclass of ndarray, and NumPy keeps the class in every operation. An element is an array
without axes, not a number of NumPy, as on every device. An array that several replicas share is read-only; a write
raises InvalidArgument. `x += y` and its like give a new array.
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
    "item",
    "seal",
    "set_writeable",
    "view",
]


Host = np.ndarray[Any, Any]
_Plain: Final = np.ndarray
K = TypeVar("K", bound=Host)


class SimArray(Host):
    """An array on a simulated device.  Only classes that `array_class` makes have instances.

    Writes to its elements raise InvalidArgument if the array is read-only. An element is an array [] with memory of its
    own, and read-only: a write to it would be lost.  Clauses: E-5, E-6
    """

    __slots__ = ()
    rank: ClassVar[int]
    placement: ClassVar[str]

    def __getitem__(self, key: Any) -> Any:
        found = item(self, key)
        kind = type(self)
        if type(found) is kind:
            return found
        element = np.asarray(found)
        set_writeable(element, False)  # as `freeze`, without a call
        return view(element, kind)

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise _read_only(self)
        np.ndarray.__setitem__(self, key, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Host data: the device belongs to a backend, which another process does not have.
        return np.array(self).__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(view(self, _Printed))

    def __str__(self) -> str:
        return str(view(self, _Printed))


item: Final[Callable[[Host, Any], Any]] = np.ndarray.__getitem__
"""NumPy's indexing, which takes half the time and gives a number of NumPy for an element."""
view: Final[Callable[[Host, type[K]], K]] = np.ndarray.view
"""`ndarray.view`, looked up once: a look-up on each device's class takes far longer."""


class _Printed(Host):
    """As which an array is printed: NumPy prints element by element, and the digits of its own numbers are exact."""

    __slots__ = ()


_Printed.__name__ = SimArray.__name__


Operator = Callable[[SimArray, Operand], Host]
_FLOAT32: Final = np.dtype(np.float32).num
"""NumPy numbers bool as 0, integers below, and floats and complex numbers from here on."""
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
            # A number of NumPy is of two arrays without axes, or of two vectors.
            return view(result if type(result) is _Plain else np.asarray(result), kind)
        return inherited(self, other)

    operator.__name__ = name
    return operator


def _quick(name: str, ufunc: np.ufunc) -> Operator:
    """Makes a binary operator for which NumPy's has quick ways, with other last bits than those of its ufunc."""
    inherited: Callable[..., Any] = getattr(np.ndarray, name)

    def operator(self: SimArray, other: Operand) -> Host:
        kind, number = type(self), self.dtype.num
        if type(other) is int or type(other) is float:
            mixes = number < _FLOAT32 and (type(other) is float or not number)
        elif type(other) is kind:
            mixes = other.dtype.num != number
        else:
            return inherited(self, other)  # type: ignore[no-any-return]
        result = mixed(ufunc, (self, other)) if mixes else inherited(view(self, _Plain), other)
        return view(result if type(result) is _Plain else np.asarray(result), kind)

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
_QUICK: Final = {"pow": np.power, "floordiv": np.floor_divide, "mod": np.remainder}
_REFLECTED: Final = {name: _OPERATORS[name] for name in ("add", "sub", "mul", "truediv")} | _QUICK
for _name, _ufunc in _OPERATORS.items():
    setattr(SimArray, f"__{_name}__", _operator(f"__{_name}__", _ufunc))
for _name, _ufunc in _QUICK.items():
    setattr(SimArray, f"__{_name}__", _quick(f"__{_name}__", _ufunc))
for _name, _ufunc in _REFLECTED.items():
    setattr(SimArray, f"__r{_name}__", _reflected(f"__r{_name}__", _ufunc))
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


def _method(name: str) -> Callable[..., Any]:
    """Makes a method of which NumPy's gives a number where the result has no axes."""
    inherited: Callable[..., Any] = getattr(np.ndarray, name)

    def method(self: SimArray, *arguments: Any, **settings: Any) -> Any:
        found = inherited(self, *arguments, **settings)
        return found if isinstance(found, np.ndarray) else np.asarray(found).view(type(self))

    method.__name__ = name
    return method


for _name in ("argmax", "argmin", "dot", "searchsorted", "take", "trace"):
    setattr(SimArray, _name, _method(_name))


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
