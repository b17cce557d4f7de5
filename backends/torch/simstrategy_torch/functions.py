"""How PyTorch's functions become the namespace's: what they adopt, and what PyTorch does otherwise than NumPy."""

from collections.abc import Callable
from typing import Any, Final, Protocol

import numpy as np
import torch
from array_api_compat import torch as _compat

from simstrategy_torch.promotion import kind_of, promoted, tensor

__all__ = [
    "along",
    "along_one",
    "binary",
    "by_parts",
    "compat",
    "counted",
    "cumulative",
    "divide_parts",
    "joining",
    "logical",
    "no_bools",
    "of_some",
    "ordered",
    "pairing",
    "part",
    "place_of",
    "power",
    "reduction",
    "several",
    "sign",
    "unary",
]

Function = Callable[..., Any]
compat: Final[Any] = _compat
"""PyTorch's functions under the standard's names; they have no types."""
_Tensor = torch.Tensor


class Placed(Protocol):
    """What the functions need of their namespace: the device of what is made of host data."""

    placement: str


def unary(function: Function, *, bools: Function | None = None, integers: Function | None = None) -> Any:
    """Makes a method of one array and settings.  bools, integers: what is done for those instead."""

    def call(self: "Placed", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        array = x if isinstance(x, _Tensor) else tensor(self.placement, x)
        special = (bools, integers, None, None)[kind_of(array.dtype)] if bools or integers else None
        return (special or function)(array, *settings, **keywords)

    return call


def binary(function: Function, *, bools: Function | None = None, floats: bool = False) -> Any:
    """Makes a method of two arrays.  bools: what is done for bool instead. floats: integers are computed as float32."""

    def call(self: "Placed", x1: Any, x2: Any, /) -> Any:
        if floats or not (isinstance(x1, _Tensor) and isinstance(x2, _Tensor) and x1.dtype == x2.dtype):
            x1, x2 = promoted(self.placement, x1, x2, floats=floats)
        return (bools if bools is not None and x1.dtype is torch.bool else function)(x1, x2)

    return call


def by_parts(function: Function) -> Function:
    """Makes a sum, difference or negative that treats complex numbers part by part.

    PyTorch multiplies the second of two by 1 + 0j first, and loses signs of zeros.
    """

    def call(*values: _Tensor) -> _Tensor:
        if not values[0].is_complex():
            result: _Tensor = function(*values)
            return result
        parts = [torch.view_as_real(one.resolve_conj()) for one in torch.broadcast_tensors(*values)]  # type: ignore[no-untyped-call]
        return torch.view_as_complex(function(*parts))

    return call


_divide: Final = binary(torch.divide, floats=True)


def divide_parts(self: "Placed", x1: Any, x2: Any, /) -> Any:
    """Divides; a complex tensor by real numbers part by part, which PyTorch rounds otherwise."""
    if isinstance(x1, _Tensor) and x1.is_complex():
        parts = torch.view_as_real(x1.resolve_conj())
        if isinstance(x2, (int, float)) and not isinstance(x2, np.generic):
            # A tensor: by a number, PyTorch's GPUs multiply by the inverse, which rounds twice.
            return torch.view_as_complex(parts / torch.as_tensor(x2, dtype=parts.dtype, device=parts.device))
        divisor = tensor(self.placement, x2)
        if not divisor.is_complex():
            return torch.view_as_complex(parts / divisor.unsqueeze(-1))
    return _divide(self, x1, x2)


def no_bools(*_values: Any) -> Any:
    """Raises TypeError: what the function does to numbers has no meaning for bool."""
    raise TypeError("bool is no number")


def ordered(function: Function) -> Function:
    """Makes a function of two arrays that refuses complex numbers."""

    def call(x1: _Tensor, x2: _Tensor) -> _Tensor:
        if x1.is_complex():
            raise TypeError("no complex numbers")
        result: _Tensor = function(x1, x2)
        return result

    return call


def part(function: Function) -> Function:
    """Makes `real` or `imag`; PyTorch returns real numbers as they are, and the standard takes complex ones."""

    def call(x: _Tensor) -> _Tensor:
        if not x.is_complex():
            raise TypeError("real numbers have no parts")
        result: _Tensor = function(x).clone()
        return result

    return call


def logical(function: Function) -> Any:
    """Makes a method of two arrays that need no common dtype."""
    return lambda self, x1, x2, /: function(
        tensor(self.placement, x1).to(torch.bool), tensor(self.placement, x2).to(torch.bool)
    )


def joining(function: Function) -> Any:
    """Makes a method that joins several arrays of one dtype."""

    def call(self: "Placed", arrays: Any, /, *, axis: int | None = 0) -> Any:
        if not isinstance(arrays, (list, tuple, range, np.ndarray, _Tensor)):
            raise TypeError("no sequence of arrays")
        return function(promoted(self.placement, *arrays), axis=axis)

    return call


def several(function: Function) -> Any:
    """Makes a method of any number of arrays that returns as many."""

    def call(self: "Placed", *arrays: Any, **settings: Any) -> list[Any]:
        return [one.clone() for one in function(*[tensor(self.placement, one) for one in arrays], **settings)]

    return call


def pairing(function: Function) -> Any:
    """Makes a method of two arrays of one dtype, and settings."""

    def call(self: "Placed", x1: Any, x2: Any, /, **settings: Any) -> Any:
        return function(*promoted(self.placement, x1, x2), **settings)

    return call


def reduction(function: Function, **special: Function) -> Any:
    """Makes a method that calls function(x, axis=…, keepdims=…) with axes that x has, none negative.

    special: `bools` and `integers`, what is called for those instead.
    """

    def call(x: _Tensor, *, axis: Any = None, keepdims: bool = False, **settings: Any) -> _Tensor:
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else axis
        if any(not -x.ndim <= one < x.ndim for one in axes):
            raise IndexError(f"there is no axis {axis}")
        chosen = special.get(("bools", "integers", "", "")[kind_of(x.dtype)], function)
        places = tuple([one % x.ndim for one in axes])
        result: _Tensor = chosen(x, axis=places, keepdims=keepdims, **settings)
        return result

    return unary(call)


def of_some(function: Function) -> Function:
    """Makes a reduction that refuses to reduce nothing: PyTorch raises another error than NumPy."""

    def call(x: _Tensor, *, axis: tuple[int, ...], keepdims: bool) -> _Tensor:
        if x.is_complex():
            raise TypeError("complex numbers have no order")  # PyTorch takes one number
        if any(x.shape[one] == 0 for one in axis):
            raise ValueError("nothing has no largest or smallest")
        result: _Tensor = function(x, axis=axis, keepdims=keepdims)
        return result

    return call


def place_of(function: Function) -> Function:
    """Makes `argmax` or `argmin`: the first place, or that of the first NaN; int32."""

    def call(x: _Tensor, *, axis: tuple[int, ...], keepdims: bool) -> _Tensor:
        comparable = x.to(torch.uint8) if x.dtype is torch.bool else x
        along = axis[0] if len(axis) == 1 else None
        result: _Tensor = function(comparable, along, keepdims).to(torch.int32)
        return result

    return call


def along_one(method: Any) -> Any:
    """Makes a method that takes one axis, or none for the flat array, of one that takes several."""

    def call(self: "Placed", x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Any:
        if isinstance(axis, tuple):
            raise TypeError("one axis or none")
        return method(self, x, axis=axis, keepdims=keepdims)

    return call


def power(x1: _Tensor, x2: _Tensor) -> _Tensor:
    """Raises to a power.  Raises ValueError for integers to negative powers."""
    if kind_of(x1.dtype) == 1 and bool((x2 < 0).any()):
        raise ValueError("an integer to a negative power")
    return torch.pow(x1, x2)


def sign(x: _Tensor) -> _Tensor:
    """Returns signs; NaN stays, of which PyTorch makes 0."""
    return torch.where(torch.isnan(x), x, torch.sgn(x))


def counted(function: Function) -> Function:
    """Makes a sum of products of two arrays that counts bools, and returns whether there was one.

    Products of integers are computed on the CPU: PyTorch has none for matrices on GPUs.
    """

    def call(x1: _Tensor, x2: _Tensor, **how: Any) -> _Tensor:
        if x1.dtype is torch.bool:
            return call(x1.to(torch.int64), x2.to(torch.int64), **how) != 0
        if not x1.is_cuda or kind_of(x1.dtype) != 1:
            result: _Tensor = function(x1, x2, **how)
            return result
        result = function(x1.cpu(), x2.cpu(), **how)
        return result.to(x1.device)

    return call


def cumulative(function: Function) -> Function:
    """Makes a cumulative sum or product that keeps the dtype; of bool, whether one or all were true so far."""

    def call(x: _Tensor, **settings: Any) -> _Tensor:
        if x.ndim == 0:
            raise ValueError("an array without axes")
        counted = x.to(torch.int64) if x.dtype is torch.bool else x
        result: _Tensor = function(counted, **settings)
        return result != 0 if x.dtype is torch.bool else result

    return call


def along(function: Function) -> Function:
    """Makes a function that sorts along an axis, equal elements in their order; PyTorch gives a scalar an axis."""

    def call(x: _Tensor, **settings: Any) -> _Tensor:
        if x.ndim == 0:
            raise ValueError("an array without axes")
        result: _Tensor = function(x, **{**settings, "stable": True})
        return result

    return call
