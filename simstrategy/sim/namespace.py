"""The simulator's array functions: NumPy's, with the rules of `simstrategy.device.namespace`."""

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from simstrategy.device import NAMES, Array, canonical_dtype, composed, host_array
from simstrategy.device.functions.creation import Shape
from simstrategy.device.refusals import guarded
from simstrategy.device.terms import Number, Operand
from simstrategy.sim.arrays import Host, SimArray, current_class, view
from simstrategy.sim.dtypes import DTYPES, dtype_named, dtype_names
from simstrategy.sim.functions import (
    FOREIGN,
    binary,
    form,
    joining,
    operand,
    operands,
    pairing,
    places,
    plain,
    reduction,
    refused,
    running,
    several,
    unary,
)
from simstrategy.sim.host_functions import (
    argsort,
    averaging,
    grid,
    mean,
    part,
    product_in_dtype,
    roll,
    sort,
    spread,
    sum_in_dtype,
    take,
    triangle,
    true_divide,
)
from simstrategy.sim.mixed import in_common

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
        try:
            array = _empty(shape, wanted)
            array.fill(fill_value)
        except FOREIGN as error:
            raise refused(SimNamespace.full, (shape, fill_value), {"dtype": dtype}, error) from error
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

    meshgrid = several(grid)
    tril = plain(triangle(np.tril))
    triu = plain(triangle(np.triu))

    def astype(self, x: Operand, dtype: str, /) -> SimArray:
        array = x if isinstance(x, np.ndarray) else self.asarray(x)
        return self.place(array.astype(dtype_named(dtype)))

    add = binary(np.add)
    subtract = binary(np.subtract)
    multiply = binary(np.multiply)
    divide = binary(true_divide, floats=True)
    floor_divide = binary(np.floor_divide)
    remainder = binary(np.remainder)
    pow = binary(np.power)
    maximum = binary(np.maximum)
    minimum = binary(np.minimum)
    atan2 = binary(np.arctan2, floats=True)
    copysign = binary(np.copysign, floats=True)
    hypot = binary(np.hypot, floats=True)
    logaddexp = binary(np.logaddexp, floats=True)
    nextafter = binary(np.nextafter, floats=True)
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
    signbit = unary(np.signbit, floats=True)
    square = unary(np.square)
    reciprocal = composed.reciprocal
    sqrt = unary(np.sqrt, floats=True)
    exp = unary(np.exp, floats=True)
    expm1 = unary(np.expm1, floats=True)
    log = unary(np.log, floats=True)
    log1p = unary(np.log1p, floats=True)
    log2 = unary(np.log2, floats=True)
    log10 = unary(np.log10, floats=True)
    sin = unary(np.sin, floats=True)
    cos = unary(np.cos, floats=True)
    tan = unary(np.tan, floats=True)
    asin = unary(np.arcsin, floats=True)
    acos = unary(np.arccos, floats=True)
    atan = unary(np.arctan, floats=True)
    sinh = unary(np.sinh, floats=True)
    cosh = unary(np.cosh, floats=True)
    tanh = unary(np.tanh, floats=True)
    asinh = unary(np.arcsinh, floats=True)
    acosh = unary(np.arccosh, floats=True)
    atanh = unary(np.arctanh, floats=True)
    floor = unary(np.floor)
    ceil = unary(np.ceil)
    trunc = unary(np.trunc)
    round = unary(np.rint, otherwise=np.array)
    isfinite = unary(np.isfinite)
    isinf = unary(np.isinf)
    isnan = unary(np.isnan)
    conj = unary(np.conjugate)
    real = plain(part(np.real))
    imag = plain(part(np.imag))
    clip = composed.clip

    def where(self, condition: Operand, x1: Operand, x2: Operand, /) -> SimArray:
        kind = type(condition) if isinstance(condition, SimArray) else type(x1) if isinstance(x1, SimArray) else None
        try:
            first, second, other = operands(self, x1, x2)
            chosen = _where(operand(self, condition), *in_common(first, second))
        except FOREIGN as error:
            raise refused(SimNamespace.where, (condition, x1, x2), {}, error) from error
        result: SimArray = chosen.view(kind or other)
        return result

    def permute_dims(self, x: Operand, /, axes: tuple[int, ...]) -> SimArray:
        try:
            return _transpose(x if isinstance(x, SimArray) else self.asarray(x), axes)
        except FOREIGN as error:
            raise refused(SimNamespace.permute_dims, (x, axes), {}, error) from error

    matrix_transpose = plain(np.matrix_transpose)
    moveaxis = plain(np.moveaxis)

    def reshape(self, x: Operand, /, shape: tuple[int, ...]) -> SimArray:
        try:
            array: Any = x if isinstance(x, SimArray) else self.asarray(x)
            result: SimArray = array.reshape(shape)
        except FOREIGN as error:
            raise refused(SimNamespace.reshape, (x, shape), {}, error) from error
        return result

    expand_dims = plain(np.expand_dims)
    squeeze = plain(lambda x, axis: np.squeeze(x, axis))  # noqa: PLW0108 - the axis must be given
    broadcast_to = plain(lambda x, shape: np.array(np.broadcast_to(x, shape)))
    broadcast_arrays = several(np.broadcast_arrays)
    concat = joining(np.concatenate)
    stack = joining(np.stack)

    def unstack(self, x: Operand, /, *, axis: int = 0) -> tuple[SimArray, ...]:
        array = self.asarray(x)
        return tuple([one.view(type(array)) for one in np.unstack(view(array, np.ndarray), axis=axis)])

    flip = plain(np.flip)
    roll = plain(roll)
    repeat = plain(np.repeat)
    tile = plain(np.tile)
    take = plain(take)
    take_along_axis = plain(lambda x, indices, *, axis=-1: np.take_along_axis(x, np.asarray(indices), axis))

    sum = reduction(sum_in_dtype, keep_dtype=True)
    prod = reduction(product_in_dtype, keep_dtype=True)
    cumulative_sum = running(np.cumulative_sum)
    cumulative_prod = running(np.cumulative_prod)
    mean = reduction(averaging(mean))
    var = plain(spread(np.var))
    std = plain(spread(np.std))
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


for _name in NAMES:
    _function: Any = vars(SimNamespace)[_name]
    if _function.__module__ == binary.__module__:
        _function.__name__ = _name  # for messages
    elif _name not in ("asarray", "full", "where", "permute_dims", "reshape"):
        setattr(SimNamespace, _name, guarded(_function, _name, form, FOREIGN))
