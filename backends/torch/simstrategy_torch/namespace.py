"""PyTorch's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic is PyTorch's, under the standard's names as `array_api_compat` has them. NumPy makes tensors of host
data, and decides to which dtype two promote.
"""

from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from simstrategy.device import NAMES, ArrayNamespace, canonical_dtype, composed, filling, host_array, is_python_data
from simstrategy.device.refusals import guarded
from simstrategy_torch.arrays import host_dtype, name_of, named
from simstrategy_torch.functions import (
    along,
    along_one,
    binary,
    by_parts,
    compat,
    counted,
    cumulative,
    divide_parts,
    joining,
    logical,
    no_bools,
    of_some,
    ordered,
    pairing,
    part,
    place_of,
    power,
    reduction,
    several,
    sign,
    unary,
)
from simstrategy_torch.moving import roll, searchsorted, squeeze, take, take_along_axis
from simstrategy_torch.promotion import in_more_bits, promoted, tensor, to_dtype

__all__ = ["TorchNamespace"]

_Tensor = torch.Tensor
_FOREIGN: Final = (TypeError, ValueError, LookupError, RuntimeError, OverflowError, AttributeError, ZeroDivisionError)
"""PyTorch's errors that stand for a mistake in the arguments."""


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _filled(place: str, shape: Any, fill_value: Any, dtype: torch.dtype | None) -> _Tensor:
    host = None if dtype is None else host_dtype(dtype)
    if host is not None and not isinstance(fill_value, _Tensor):
        fill_value = filling(fill_value, host)
    if isinstance(fill_value, _Tensor) and dtype is not None:
        fill_value = to_dtype(fill_value, dtype)
    value = tensor(place, fill_value, dtype)
    if value.ndim:
        raise ValueError("one number")
    return torch.empty(_shape(shape), dtype=value.dtype, device=place).copy_(value)


def _filled_like(x: _Tensor, fill_value: Any, *, dtype: Any = None) -> _Tensor:
    return _filled(str(x.device), x.shape, fill_value, x.dtype if dtype is None else named(dtype))


def _grid(*arrays: _Tensor, **how: Any) -> Any:
    """Makes a grid of vectors; PyTorch takes a number for one."""
    if any(array.ndim != 1 for array in arrays):
        raise ValueError("vectors alone")
    return compat.meshgrid(*arrays, **how)


def _repeats(x: _Tensor, repeats: Any) -> Any:
    """Returns counts.  Raises ValueError for negative ones, which a GPU does not report in time."""
    if isinstance(repeats, int):
        return repeats
    counts = tensor(str(x.device), repeats)
    if counts.dtype is torch.bool or counts.is_floating_point() or counts.is_complex():
        return counts  # PyTorch refuses it
    counts = counts.long()
    if bool((counts < 0).any()):
        raise ValueError("a count is negative")
    return counts


def _variance(x: _Tensor, *, axis: tuple[int, ...], **how: Any) -> _Tensor:
    if x.is_complex():
        raise TypeError("no complex numbers")
    # Of no axes array_api_compat makes zeros, also of NaN: a new axis of one element is reduced in their place.
    result: _Tensor = (
        compat.var(x, axis=axis, **how) if axis else compat.var(x[None], axis=0, **{**how, "keepdims": False})
    )
    return result


def _deviation(x: _Tensor, **how: Any) -> _Tensor:
    return torch.sqrt(_variance(x, **how))  # PyTorch's takes whole corrections alone


def _averaging(function: Any) -> Any:
    """Makes a mean or a variance along axes; integers are computed as float32."""

    def of_integers(x: _Tensor, **how: Any) -> _Tensor:
        result: _Tensor = function(x.to(torch.float32), **how)
        return result

    return reduction(function, bools=of_integers, integers=of_integers)


def _count(x: _Tensor, *, axis: tuple[int, ...], keepdims: bool) -> _Tensor:
    counted: _Tensor = compat.sum((x != 0).to(torch.int32), axis=axis, keepdims=keepdims, dtype=torch.int32)
    return counted


@final
class TorchNamespace:
    """See `simstrategy.device.namespace`.  Reshaped arrays may share memory with their arguments, as NumPy's do.

    placement: the device of what is created; all replicas of a process share one.
    """

    __slots__ = ("placement",)

    def __init__(self, placement: str) -> None:
        self.placement = placement

    def asarray(self, value: Any, *, dtype: Any = None) -> _Tensor:
        if dtype is not None and isinstance(value, _Tensor):
            return to_dtype(value, named(dtype))
        wanted = None if dtype is None else named(dtype)
        if is_python_data(value):
            value = host_array(value, dtype and canonical_dtype(dtype), where="xp.asarray")
        return tensor(self.placement, value, wanted)

    zeros = composed.zeros
    ones = composed.ones

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> _Tensor:
        return _filled(self.placement, shape, fill_value, None if dtype is None else named(dtype))

    zeros_like = composed.zeros_like
    ones_like = composed.ones_like
    full_like = unary(_filled_like)
    arange = composed.arange
    linspace = composed.linspace

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None) -> _Tensor:
        made: _Tensor = compat.eye(n_rows, n_cols, k=k, dtype=named(dtype or "float32"), device=self.placement)
        return made

    meshgrid = several(_grid)
    tril = unary(compat.tril)
    triu = unary(compat.triu)
    astype = unary(lambda x, dtype: to_dtype(x, named(dtype)))

    add = binary(by_parts(torch.add))
    subtract = binary(by_parts(compat.subtract))
    multiply = binary(compat.multiply)
    divide = divide_parts
    floor_divide = binary(compat.floor_divide)
    remainder = binary(compat.remainder)
    pow = binary(power)
    maximum = binary(compat.maximum)
    minimum = binary(compat.minimum)
    atan2 = binary(compat.atan2, floats=True)
    copysign = binary(compat.copysign, floats=True)
    hypot = binary(compat.hypot, floats=True)
    logaddexp = binary(ordered(compat.logaddexp), floats=True)
    nextafter = binary(compat.nextafter, floats=True)
    equal = binary(compat.equal)
    not_equal = binary(compat.not_equal)
    less = binary(compat.less)
    less_equal = binary(compat.less_equal)
    greater = binary(compat.greater)
    greater_equal = binary(compat.greater_equal)
    logical_and = logical(torch.logical_and)
    logical_or = logical(torch.logical_or)
    logical_xor = logical(torch.logical_xor)
    bitwise_and = binary(compat.bitwise_and)
    bitwise_or = binary(compat.bitwise_or)
    bitwise_xor = binary(compat.bitwise_xor)
    bitwise_left_shift = binary(compat.bitwise_left_shift)
    bitwise_right_shift = binary(compat.bitwise_right_shift)

    logical_not = unary(compat.logical_not)
    bitwise_invert = unary(compat.bitwise_invert)
    positive = unary(torch.clone, bools=no_bools)
    negative = unary(by_parts(torch.negative))
    abs = unary(torch.abs, bools=torch.clone)
    sign = unary(sign, bools=no_bools)
    signbit = unary(compat.signbit)
    square = unary(compat.square, bools=no_bools)
    reciprocal = composed.reciprocal
    sqrt = unary(compat.sqrt)
    exp = unary(compat.exp)
    expm1 = unary(compat.expm1)
    log = unary(compat.log)
    log1p = unary(compat.log1p)
    log2 = unary(compat.log2)
    log10 = unary(compat.log10)
    sin = unary(compat.sin)
    cos = unary(compat.cos)
    tan = unary(compat.tan)
    asin = unary(compat.asin)
    acos = unary(compat.acos)
    atan = unary(compat.atan)
    sinh = unary(compat.sinh)
    cosh = unary(compat.cosh)
    tanh = unary(compat.tanh)
    asinh = unary(compat.asinh)
    acosh = unary(compat.acosh)
    atanh = unary(compat.atanh)
    floor = unary(torch.floor, bools=torch.clone)
    ceil = unary(torch.ceil, bools=torch.clone)
    trunc = unary(torch.trunc, bools=torch.clone)
    round = unary(torch.round, bools=torch.clone)
    isfinite = unary(compat.isfinite)
    isinf = unary(compat.isinf)
    isnan = unary(compat.isnan)
    conj = unary(lambda x: torch.conj(x).clone().resolve_conj(), bools=no_bools)
    real = unary(part(torch.real))
    imag = unary(part(torch.imag))
    clip = composed.clip

    def where(self, condition: Any, x1: Any, x2: Any, /) -> _Tensor:
        first, second = promoted(self.placement, x1, x2)
        return torch.where(tensor(self.placement, condition, torch.bool), first, second)

    permute_dims = unary(compat.permute_dims)
    matrix_transpose = unary(compat.matrix_transpose)
    moveaxis = unary(torch.moveaxis)
    reshape = unary(lambda x, shape: torch.reshape(x, _shape(shape)))
    expand_dims = unary(compat.expand_dims)
    squeeze = unary(squeeze)
    broadcast_to = unary(lambda x, shape: x.expand(_shape(shape)).clone(memory_format=torch.contiguous_format))
    broadcast_arrays = several(compat.broadcast_arrays)
    concat = joining(compat.concat)
    stack = joining(torch.stack)
    unstack = unary(compat.unstack)
    flip = reduction(lambda x, *, axis, keepdims: torch.flip(x, axis))
    roll = unary(roll)
    repeat = unary(lambda x, repeats, **along: compat.repeat(x, _repeats(x, repeats), **along))
    tile = unary(torch.tile)
    take = unary(take)
    take_along_axis = unary(take_along_axis)

    sum = reduction(lambda x, **how: compat.sum(x, dtype=x.dtype, **how))
    prod = reduction(in_more_bits(compat.prod))
    cumulative_sum = unary(cumulative(in_more_bits(compat.cumulative_sum)))
    cumulative_prod = unary(cumulative(in_more_bits(compat.cumulative_prod)))
    mean = _averaging(compat.mean)
    var = _averaging(_variance)
    std = _averaging(_deviation)
    max = reduction(of_some(compat.max))
    min = reduction(of_some(compat.min))
    all = reduction(compat.all)
    any = reduction(compat.any)
    diff = composed.diff
    matmul = binary(counted(torch.matmul))
    vecdot = pairing(counted(compat.vecdot))
    tensordot = pairing(counted(compat.tensordot))

    argmax = along_one(reduction(of_some(place_of(torch.argmax))))
    argmin = along_one(reduction(of_some(place_of(torch.argmin))))
    count_nonzero = reduction(_count)
    searchsorted = pairing(searchsorted)
    sort = unary(along(compat.sort))
    argsort = unary(along(lambda x, **how: compat.argsort(x, **how).to(torch.int32)))


def _form(value: Any) -> tuple[tuple[int, ...], str] | None:
    if isinstance(value, _Tensor):
        return tuple(value.shape), name_of(value.dtype)
    return (value.shape, value.dtype.name) if isinstance(value, np.ndarray) else None


for _name in NAMES:
    _method = guarded(vars(TorchNamespace)[_name], _name, _form, _FOREIGN, exhausted=(torch.OutOfMemoryError,))
    setattr(TorchNamespace, _name, _method)


if TYPE_CHECKING:
    _: ArrayNamespace = TorchNamespace("cpu")
