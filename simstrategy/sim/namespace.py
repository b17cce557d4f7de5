"""The simulator's array functions: NumPy's, with the rules of `simstrategy.device.namespace`."""

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from simstrategy.device import Array, canonical_dtype, composed, host_array
from simstrategy.device.functions.creation import Shape
from simstrategy.device.terms import Number, Operand
from simstrategy.sim.arrays import Host, SimArray, current_class, view
from simstrategy.sim.dtypes import DTYPES, dtype_named, dtype_names
from simstrategy.sim.functions import (
    argsort,
    binary,
    joining,
    operand,
    pairing,
    places,
    plain,
    reduction,
    several,
    sort,
    sum_in_dtype,
    triangle,
    true_divide,
    unary,
)

__all__ = ["SimNamespace"]

_empty: Final = np.empty
_where: Final[Callable[..., Host]] = np.where
_transpose: Final[Callable[..., SimArray]] = np.ndarray.transpose


@final
class SimNamespace:
    """See `simstrategy.device.namespace`; `default` is the device outside replica functions."""

    __slots__ = ("_default",)

    def __init__(self, default: type[SimArray]) -> None:
        self._default = default

    @property
    def kind(self) -> type[SimArray]:
        """The class of new arrays: that of the running replica's device."""
        return current_class() or self._default

    def place(self, value: Host | np.generic) -> SimArray:
        """Returns a NumPy result as an array of the running replica's device."""
        if isinstance(value, SimArray):
            return value
        return np.asarray(value).view(self.kind)

    def asarray(self, value: Operand, *, dtype: str | None = None) -> SimArray:
        if dtype is None and isinstance(value, SimArray):
            return value
        wanted = None if dtype is None else dtype_named(dtype)
        if type(value) is not np.ndarray and not isinstance(value, SimArray):
            value = host_array(value, dtype and canonical_dtype(dtype), where="xp.asarray")
        array = np.array(value, dtype=wanted, copy=True)
        if array.dtype not in dtype_names:
            array = array.astype(dtype_named(array.dtype.name))  # the machine's byte order, or no dtype of ours
        return self.place(array)

    def zeros(self, shape: Shape, *, dtype: str | None = None) -> SimArray:
        return self.place(np.zeros(shape, dtype_named(dtype or "float32")))

    def ones(self, shape: Shape, *, dtype: str | None = None) -> SimArray:
        return self.place(np.ones(shape, dtype_named(dtype or "float32")))

    def full(self, shape: Shape, fill_value: Number | Array, *, dtype: str | None = None) -> SimArray:
        wanted = DTYPES.get(dtype or "") or (self.asarray(fill_value).dtype if dtype is None else dtype_named(dtype))
        array = _empty(shape, wanted)
        array.fill(fill_value)
        return array.view(current_class() or self._default)

    zeros_like = composed.zeros_like
    ones_like = composed.ones_like

    def full_like(self, x: Operand, /, fill_value: Number | Array, *, dtype: str | None = None) -> SimArray:
        array = x if isinstance(x, np.ndarray) else self.asarray(x)
        wanted = dtype_named(dtype) if dtype is not None else array.dtype
        return np.full(array.shape, fill_value, wanted).view(type(x) if isinstance(x, SimArray) else self.kind)

    arange = composed.arange
    linspace = composed.linspace

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: str | None = None) -> SimArray:
        return self.place(np.eye(n_rows, n_cols, k, dtype_named(dtype or "float32")))

    meshgrid = several(np.meshgrid)
    tril = plain(triangle(np.tril))
    triu = plain(triangle(np.triu))

    def astype(self, x: Operand, dtype: str, /) -> SimArray:
        array = x if isinstance(x, np.ndarray) else self.asarray(x)
        return self.place(array.astype(dtype_named(dtype)))

    add = binary(np.add)
    subtract = binary(np.subtract)
    multiply = binary(np.multiply)
    divide = binary(true_divide)
    floor_divide = binary(np.floor_divide)
    remainder = binary(np.remainder)
    pow = binary(np.power)
    maximum = binary(np.maximum)
    minimum = binary(np.minimum)
    atan2 = binary(np.arctan2)
    copysign = binary(np.copysign)
    hypot = binary(np.hypot)
    logaddexp = binary(np.logaddexp)
    nextafter = binary(np.nextafter)
    equal = binary(np.equal)
    not_equal = binary(np.not_equal)
    less = binary(np.less)
    less_equal = binary(np.less_equal)
    greater = binary(np.greater)
    greater_equal = binary(np.greater_equal)
    logical_and = binary(np.logical_and)
    logical_or = binary(np.logical_or)
    logical_xor = binary(np.logical_xor)
    bitwise_and = binary(np.bitwise_and)
    bitwise_or = binary(np.bitwise_or)
    bitwise_xor = binary(np.bitwise_xor)
    bitwise_left_shift = binary(np.left_shift)
    bitwise_right_shift = binary(np.right_shift)
    logical_not = unary(np.logical_not)
    bitwise_invert = unary(np.invert)
    positive = unary(np.positive)
    negative = unary(np.negative)
    abs = unary(np.abs)
    sign = unary(np.sign)
    signbit = unary(np.signbit)
    square = unary(np.square)
    reciprocal = composed.reciprocal
    sqrt = unary(np.sqrt)
    exp = unary(np.exp)
    expm1 = unary(np.expm1)
    log = unary(np.log)
    log1p = unary(np.log1p)
    log2 = unary(np.log2)
    log10 = unary(np.log10)
    sin = unary(np.sin)
    cos = unary(np.cos)
    tan = unary(np.tan)
    asin = unary(np.arcsin)
    acos = unary(np.arccos)
    atan = unary(np.arctan)
    sinh = unary(np.sinh)
    cosh = unary(np.cosh)
    tanh = unary(np.tanh)
    asinh = unary(np.arcsinh)
    acosh = unary(np.arccosh)
    atanh = unary(np.arctanh)
    floor = unary(np.floor)
    ceil = unary(np.ceil)
    trunc = unary(np.trunc)
    round = plain(np.round)
    isfinite = unary(np.isfinite)
    isinf = unary(np.isinf)
    isnan = unary(np.isnan)
    conj = unary(np.conjugate)
    real = plain(lambda x: np.array(x.real))
    imag = plain(lambda x: np.array(x.imag))
    clip = composed.clip

    def where(self, condition: Operand, x1: Operand, x2: Operand, /) -> SimArray:
        kind = type(condition) if isinstance(condition, SimArray) else type(x1) if isinstance(x1, SimArray) else None
        if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
            x1, x2 = self.asarray(x1), self.asarray(x2)
        chosen = _where(condition, operand(self, x1), operand(self, x2))
        result: SimArray = chosen.view(kind or (type(x2) if isinstance(x2, SimArray) else self.kind))
        return result

    def permute_dims(self, x: Operand, /, axes: tuple[int, ...]) -> SimArray:
        return _transpose(x if isinstance(x, SimArray) else self.asarray(x), axes)

    matrix_transpose = plain(np.matrix_transpose)
    moveaxis = plain(np.moveaxis)

    def reshape(self, x: Operand, /, shape: tuple[int, ...]) -> SimArray:
        array: Any = x if isinstance(x, SimArray) else self.asarray(x)
        result: SimArray = array.reshape(shape)
        return result

    expand_dims = plain(np.expand_dims)
    squeeze = plain(np.squeeze)
    broadcast_to = plain(lambda x, shape: np.array(np.broadcast_to(x, shape)))
    broadcast_arrays = several(np.broadcast_arrays)
    concat = joining(np.concatenate)
    stack = joining(np.stack)

    def unstack(self, x: Operand, /, *, axis: int = 0) -> tuple[SimArray, ...]:
        array = self.asarray(x)
        return tuple([one.view(type(array)) for one in np.unstack(view(array, np.ndarray), axis=axis)])

    flip = plain(np.flip)
    roll = plain(np.roll)
    repeat = plain(np.repeat)
    tile = plain(np.tile)
    take = plain(np.take)
    take_along_axis = plain(lambda x, indices, *, axis=-1: np.take_along_axis(x, np.asarray(indices), axis))

    sum = reduction(sum_in_dtype, keep_dtype=True)
    prod = reduction(np.multiply.reduce, keep_dtype=True)
    cumulative_sum = plain(lambda x, **how: np.cumulative_sum(x, dtype=x.dtype, **how))
    cumulative_prod = plain(lambda x, **how: np.cumulative_prod(x, dtype=x.dtype, **how))
    mean = reduction(np.mean)
    var = plain(np.var)
    std = plain(np.std)
    max = reduction(np.maximum.reduce)
    min = reduction(np.minimum.reduce)
    all = reduction(np.logical_and.reduce)
    any = reduction(np.logical_or.reduce)
    diff = composed.diff
    matmul = binary(np.matmul)
    vecdot = pairing(np.vecdot)
    tensordot = pairing(np.tensordot)

    argmax = places(np.argmax)
    argmin = places(np.argmin)
    count_nonzero = places(np.count_nonzero)
    searchsorted = places(np.searchsorted)
    sort = plain(sort)
    argsort = places(argsort)
