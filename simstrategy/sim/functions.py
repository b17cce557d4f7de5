"""How NumPy's functions become the simulator's: what they adopt, where their results are, and which dtype these have.

NumPy takes longer to carry a subclass through an operation than to add two short arrays: these functions let it compute
with plain arrays, and take a view of the result, which costs next to nothing.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np

from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import SimArray, view

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


class Adopting(Protocol):
    """What the functions need of their namespace."""

    @property
    def kind(self) -> type[SimArray]: ...
    def asarray(self, value: Any) -> SimArray: ...
    def place(self, value: Any) -> SimArray: ...


def joining(function: Callable[..., Any]) -> Any:
    """Makes a function that joins several arrays."""

    def call(_self: Adopting, arrays: Any, /, *, axis: int | None = 0) -> Any:
        kinds = [type(array) for array in arrays if isinstance(array, SimArray)]
        adopted = [view(array if isinstance(array, SimArray) else _self.asarray(array), _Plain) for array in arrays]
        return view(function(adopted, axis=axis), kinds[0] if kinds else _self.kind)

    return call


def operand(namespace: Adopting, x: Any) -> Any:
    """Makes an array of a list, in the default dtype; a number beside an array takes the array's."""
    return namespace.asarray(x) if isinstance(x, (list, tuple)) else x


def binary(function: Callable[..., Any]) -> Any:
    """Makes a function of two arrays."""

    def call(_self: Adopting, x1: Any, x2: Any, /) -> Any:
        kind, other = type(x1), type(x2)
        if (other is not kind and other is not float) or not isinstance(x1, SimArray):
            x1, x2, kind = operands(_self, x1, x2)
        result = function(x1, x2, subok=False)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def operands(namespace: Adopting, x1: Any, x2: Any) -> tuple[Any, Any, type[SimArray]]:
    """Returns what to compute with, and the class of the result."""
    kind = type(x1) if isinstance(x1, SimArray) else type(x2) if isinstance(x2, SimArray) else namespace.kind
    if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
        x1 = namespace.asarray(x1)
    return operand(namespace, x1), operand(namespace, x2), kind


def true_divide(x1: Any, x2: Any, *, subok: bool) -> Any:
    """Divides; a complex array by a real number part by part: NumPy takes an inverse, which may be one ulp off."""
    if type(x2) is float and isinstance(x1, np.ndarray) and x1.dtype.kind == "c":
        result = np.empty_like(x1, subok=subok)
        result.real, result.imag = x1.real / x2, x1.imag / x2
        return result
    return np.true_divide(x1, x2, subok=subok)


def unary(function: Callable[..., Any]) -> Any:
    """Makes a function of one array."""

    def call(_self: Adopting, x: Any, /) -> Any:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        result = function(array, subok=False)
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


_ADD: Final[Callable[..., Any]] = np.add.reduce
_HALF: Final = np.dtype(np.float16).num


def sum_in_dtype(array: Any, axis: Any, dtype: Any, out: Any, keepdims: Any) -> Any:
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


def reduction(function: Callable[..., Any], *, keep_dtype: bool = False) -> Any:
    """Makes a reduction of one called as `function(array, axis, dtype, None, keepdims)`."""

    def call(_self: Adopting, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        kind = type(x)
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


def plain(function: Callable[..., Any]) -> Any:
    """Makes a function of one array and settings that computes with a plain array."""

    def call(_self: Adopting, x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        result = function(view(array, _Plain), *arguments, **keywords)
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


def places(function: Callable[..., Any]) -> Any:
    """Makes a function whose results are places or counts: int32."""

    def call(_self: Adopting, x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        return np.asarray(function(view(array, _Plain), *arguments, **keywords), np.int32).view(type(array))

    return call


def several(function: Callable[..., Any]) -> Any:
    """Makes a function of any number of arrays that returns as many; each is where its argument is."""

    def call(_self: Adopting, *arrays: Any, **keywords: Any) -> list[Any]:
        adopted = [_self.asarray(array) for array in arrays]
        results = function(*[view(array, _Plain) for array in adopted], **keywords)
        return [np.array(one).view(type(like)) for one, like in zip(results, adopted, strict=True)]

    return call


def pairing(function: Callable[..., Any]) -> Any:
    """Makes a function of two arrays and settings."""

    def call(_self: Adopting, x1: Any, x2: Any, /, **settings: Any) -> Any:
        first, second, kind = operands(_self, x1, x2)
        return np.asarray(function(np.asarray(first), np.asarray(second), **settings)).view(kind)

    return call


def triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `tril` or `triu`: of a vector NumPy makes a matrix, and the standard has nothing."""

    def call(x: Any, *, k: int = 0) -> Any:
        if x.ndim < 2:
            raise InvalidArgument(f"xp.tril and xp.triu take matrices […, m, n], got shape {list(x.shape)}.")
        return function(x, k)

    return call


def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sorts; NumPy has one direction."""
    ordered = np.sort(x, axis=axis, stable=True)
    return np.flip(ordered, axis) if descending else ordered


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Returns the places that sort; descending, those of the array from behind, so that equal ones keep their order."""
    if not descending:
        return np.argsort(x, axis=axis, stable=True)
    return np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis=axis, stable=True), axis)
