"""How NumPy's functions become the simulator's: what they adopt, where their results are, and which dtype these have.

NumPy takes longer to carry a subclass through an operation than to add two short arrays: these functions let it compute
with plain arrays, and take a view of the result, which costs next to nothing.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from simstrategy.device.functions.reductions import Axis
from simstrategy.device.terms import Number, Operand
from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import Host, SimArray, view

__all__ = [
    "Adopting",
    "argsort",
    "binary",
    "joining",
    "operand",
    "pairing",
    "places",
    "plain",
    "reduction",
    "several",
    "sort",
    "sum_in_dtype",
    "triangle",
    "true_divide",
    "unary",
]

_Plain: Final = np.ndarray

Method: TypeAlias = Callable[..., SimArray]
"""A function of `SimNamespace`; `simstrategy.device.functions` states what it takes."""

Setting: TypeAlias = Operand | str | None
"""What a function takes besides its arrays: axes, shapes, counts, places, names."""


class Adopting(Protocol):
    """What the functions need of their namespace."""

    @property
    def kind(self) -> type[SimArray]: ...
    def asarray(self, value: Operand) -> SimArray: ...
    def place(self, value: Host | np.generic) -> SimArray: ...


def joining(function: Callable[..., Any]) -> Method:
    """Makes a function that joins several arrays."""

    def call(_self: Adopting, arrays: Sequence[Operand], /, *, axis: int | None = 0) -> SimArray:
        kinds = [type(array) for array in arrays if isinstance(array, SimArray)]
        adopted = [view(array if isinstance(array, SimArray) else _self.asarray(array), _Plain) for array in arrays]
        return view(function(adopted, axis=axis), kinds[0] if kinds else _self.kind)

    return call


def operand(namespace: Adopting, x: Operand) -> Operand:
    """Makes an array of a list, in the default dtype; a number beside an array takes the array's."""
    return namespace.asarray(x) if isinstance(x, (list, tuple)) else x


def binary(function: Callable[..., Any]) -> Method:
    """Makes a function of two arrays."""

    def call(_self: Adopting, x1: Operand, x2: Operand, /) -> SimArray:
        kind: type[SimArray] = type(x1)  # type: ignore[assignment]  # replaced below where it is another
        other = type(x2)
        if (other is not kind and other is not float) or not isinstance(x1, SimArray):
            x1, x2, kind = operands(_self, x1, x2)
        result = function(x1, x2, subok=False)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def operands(namespace: Adopting, x1: Operand, x2: Operand) -> tuple[Operand, Operand, type[SimArray]]:
    """Returns what to compute with, and the class of the result."""
    kind = type(x1) if isinstance(x1, SimArray) else type(x2) if isinstance(x2, SimArray) else namespace.kind
    if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
        x1 = namespace.asarray(x1)
    return operand(namespace, x1), operand(namespace, x2), kind


def true_divide(x1: Host | Number, x2: Host | Number, *, subok: bool) -> Host:
    """Divides; a complex array by a real number part by part: NumPy takes an inverse, which may be one ulp off."""
    if type(x2) is float and isinstance(x1, np.ndarray) and x1.dtype.kind == "c":
        result = np.empty_like(x1, subok=subok)
        result.real, result.imag = x1.real / x2, x1.imag / x2
        return result
    quotient: Host = np.true_divide(x1, x2, subok=subok)
    return quotient


def unary(function: Callable[..., Any]) -> Method:
    """Makes a function of one array."""

    def call(_self: Adopting, x: Operand, /) -> SimArray:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        result = function(array, subok=False)
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


_ADD: Final[Callable[..., Host]] = np.add.reduce
_HALF: Final = np.dtype(np.float16).num


def sum_in_dtype(array: Host, axis: Axis, dtype: np.dtype[Any] | None, out: Host | None, keepdims: bool) -> Host:
    """Sums; float16 one by one, in float16: NumPy takes float32 in between, and TensorFlow does not."""
    if array.dtype.num != _HALF or array.size == 0:
        return _ADD(array, axis, dtype, out, keepdims)
    axes = range(array.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    summed = sorted({one % array.ndim for one in axes}) if array.ndim else []
    kept = [one for one in range(array.ndim) if one not in summed]
    shape = [array.shape[one] for one in kept]
    rows = np.transpose(array, [*kept, *summed]).reshape([*shape, -1])
    total = np.add.accumulate(rows, axis=-1)[..., -1]
    return np.expand_dims(total, tuple(summed)) if keepdims else total


def reduction(function: Callable[..., Any], *, keep_dtype: bool = False) -> Method:
    """Makes a reduction of one called as `function(array, axis, dtype, None, keepdims)`."""

    def call(_self: Adopting, x: Operand, /, *, axis: Axis = None, keepdims: bool = False) -> SimArray:
        kind: type[SimArray] = type(x)  # type: ignore[assignment]  # replaced below where it is another
        if not isinstance(x, SimArray):
            x = _self.asarray(x)
            kind = type(x)
        plain = view(x, _Plain)
        result = function(plain, axis, plain.dtype if keep_dtype else None, None, keepdims)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def plain(function: Callable[..., Any]) -> Method:
    """Makes a function of one array and settings that computes with a plain array."""

    def call(_self: Adopting, x: Operand, /, *arguments: Setting, **keywords: Setting) -> SimArray:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        result = function(view(array, _Plain), *arguments, **keywords)
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


def places(function: Callable[..., Any]) -> Method:
    """Makes a function whose results are places or counts: int32."""

    def call(_self: Adopting, x: Operand, /, *arguments: Setting, **keywords: Setting) -> SimArray:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        return np.asarray(function(view(array, _Plain), *arguments, **keywords), np.int32).view(type(array))

    return call


def several(function: Callable[..., Any]) -> Callable[..., list[SimArray]]:
    """Makes a function of any number of arrays that returns as many; each is where its argument is."""

    def call(_self: Adopting, *arrays: Operand, **keywords: Setting) -> list[SimArray]:
        adopted = [_self.asarray(array) for array in arrays]
        results = function(*[view(array, _Plain) for array in adopted], **keywords)
        return [np.array(one).view(type(like)) for one, like in zip(results, adopted, strict=True)]

    return call


def pairing(function: Callable[..., Any]) -> Method:
    """Makes a function of two arrays and settings."""

    def call(_self: Adopting, x1: Operand, x2: Operand, /, **settings: Setting) -> SimArray:
        first, second, kind = operands(_self, x1, x2)
        return np.asarray(function(np.asarray(first), np.asarray(second), **settings)).view(kind)

    return call


def triangle(function: Callable[..., Host]) -> Callable[..., Host]:
    """Makes `tril` or `triu`: of a vector NumPy makes a matrix, and the standard has nothing."""

    def call(x: Host, *, k: int = 0) -> Host:
        if x.ndim < 2:
            raise InvalidArgument(f"xp.tril and xp.triu take matrices […, m, n], got shape {list(x.shape)}.")
        return function(x, k)

    return call


def sort(x: Host, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Host:
    """Sorts; NumPy has one direction."""
    ordered = np.sort(x, axis=axis, stable=True)
    return np.flip(ordered, axis) if descending else ordered


def argsort(x: Host, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Host:
    """Returns the places that sort; descending, those of the array from behind, so that equal ones keep their order."""
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)
