"""The simulator's array functions: NumPy's, with the rules of `simstrategy.device.namespace`."""

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from simstrategy.device import NAMES, Array, canonical_dtype, cast, composed, host_array
from simstrategy.device.refusals import guarded
from simstrategy.device.terms import Number, Operand
from simstrategy.sim.arrays import Host, SimArray, current_class, view
from simstrategy.sim.dtypes import DTYPES, dtype_named, dtype_names
from simstrategy.sim.functions import (
    binary,
    joining,
    operand,
    operands,
    pairing,
    places,
    plain,
    reduction,
    running,
    several,
    unary,
)
from simstrategy.sim.host_functions import (
    argsort,
    averaging,
    grid,
    mean,
    nextafter,
    of_reals,
    part,
    product_in_dtype,
    roll,
    searchsorted,
    sort,
    spread,
    squeeze,
    sum_in_dtype,
    take,
    triangle,
    true_divide,
)
from simstrategy.sim.mistakes import FOREIGN, MISSING, SIZED, called_again, form, misformed, placed, refused
from simstrategy.sim.mixed import NARROW, in_common

__all__ = ["SimNamespace"]

_COMPLEX: Final = np.dtype(np.complex64).num
"""NumPy numbers the dtypes without an order from here on, and all real ones of ours but float16 below."""
_FLOAT32: Final = DTYPES["float32"]
_empty, _zeros = np.empty, np.zeros
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
        return value if isinstance(value, SimArray) else np.asarray(value).view(self.kind)

    def asarray(self, *arguments: Any, dtype: str | None = None, **others: Any) -> SimArray:
        if others or len(arguments) != 1:
            arguments = placed(SimNamespace.asarray, arguments, {"dtype": dtype, **others})
        (value,) = arguments
        if dtype is None and isinstance(value, SimArray):
            return value
        wanted = None if dtype is None else dtype_named(dtype)
        if type(value) is not np.ndarray and not isinstance(value, SimArray):
            value = host_array(value, dtype and canonical_dtype(dtype), where="xp.asarray")
        try:
            if wanted is not None and wanted.kind in "iu" and value.dtype.kind not in "biu":
                value = cast(value, wanted)
            array = np.array(value, dtype=wanted, copy=True)
        except FOREIGN as error:
            raise refused(SimNamespace.asarray, (value,), {"dtype": dtype}, error) from error
        if array.dtype not in dtype_names:
            array = array.astype(dtype_named(array.dtype.name))  # the machine's byte order, or no dtype of ours
        return view(array, type(value) if isinstance(value, SimArray) else self.kind)

    def zeros(self, *arguments: Any, dtype: str | None = None, **others: Any) -> SimArray:
        if others or len(arguments) != 1:
            arguments = placed(SimNamespace.zeros, arguments, {"dtype": dtype, **others})
        try:
            array = _zeros(arguments[0], _FLOAT32 if dtype is None else dtype_named(dtype))
        except SIZED as error:
            return called_again(SimNamespace.zeros, self, arguments, {"dtype": dtype}, error)
        return view(array, current_class() or self._default)

    def ones(self, *arguments: Any, dtype: str | None = None, **others: Any) -> SimArray:
        if others or len(arguments) != 1:
            arguments = placed(SimNamespace.ones, arguments, {"dtype": dtype, **others})
        try:
            array = _empty(arguments[0], _FLOAT32 if dtype is None else dtype_named(dtype))
        except SIZED as error:
            return called_again(SimNamespace.ones, self, arguments, {"dtype": dtype}, error)
        array.fill(1)
        return view(array, current_class() or self._default)

    def full(self, *arguments: Any, dtype: str | None = None, **others: Any) -> SimArray:
        if others or len(arguments) != 2:
            arguments = placed(SimNamespace.full, arguments, {"dtype": dtype, **others})
        shape, fill_value = arguments
        try:
            known = DTYPES.get(dtype) if type(dtype) is str else None
            if dtype is None:
                like = self.asarray(fill_value)
                known = like.dtype
                if like.ndim:
                    raise ValueError("one number")
            array = _empty(shape, known or dtype_named(dtype or ""))
            array.fill(cast(fill_value, array.dtype) if isinstance(fill_value, SimArray) else fill_value)
        except SIZED as error:
            return called_again(SimNamespace.full, self, arguments, {"dtype": dtype}, error)
        return view(array, current_class() or self._default)

    zeros_like = composed.zeros_like
    ones_like = composed.ones_like

    def full_like(self, x: Operand, /, fill_value: Number | Array, *, dtype: str | None = None) -> SimArray:
        array = x if isinstance(x, SimArray) else self.asarray(x)
        filled = _empty(array.shape, dtype_named(dtype) if dtype is not None else array.dtype)
        filled.fill(cast(fill_value, filled.dtype) if isinstance(fill_value, SimArray) else fill_value)
        return filled.view(type(x) if isinstance(x, SimArray) else self.kind)

    arange = composed.arange
    linspace = composed.linspace

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: str | None = None) -> SimArray:
        return self.place(np.eye(n_rows, n_cols, k, dtype_named(dtype or "float32")))

    meshgrid = several(grid)
    tril = plain(triangle(np.tril))
    triu = plain(triangle(np.triu))

    def astype(self, x: Operand, dtype: str, /) -> SimArray:
        array = x if isinstance(x, SimArray) else self.asarray(x)
        wanted = dtype_named(dtype)
        is_cut = wanted.kind in "iu" and array.dtype.kind not in "biu"
        return self.place(cast(array, wanted) if is_cut else array.astype(wanted))

    add = binary(np.add)
    subtract = binary(np.subtract)
    multiply = binary(np.multiply)
    divide = binary(true_divide, floats=True)
    floor_divide = binary(np.floor_divide)
    remainder = binary(np.remainder)
    pow = binary(np.power)
    maximum = binary(np.maximum, compares=True)
    minimum = binary(np.minimum, compares=True)
    atan2 = binary(np.arctan2, floats=True)
    copysign = binary(np.copysign, floats=True)
    hypot = binary(np.hypot, floats=True)
    logaddexp = binary(np.logaddexp, floats=True)
    nextafter = binary(nextafter, floats=True)
    equal = binary(np.equal, compares=True)
    not_equal = binary(np.not_equal, compares=True)
    less = binary(np.less, compares=True)
    less_equal = binary(np.less_equal, compares=True)
    greater = binary(np.greater, compares=True)
    greater_equal = binary(np.greater_equal, compares=True)
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
    round = unary(of_reals(np.rint), otherwise=np.array)
    isfinite = unary(np.isfinite)
    isinf = unary(np.isinf)
    isnan = unary(np.isnan)
    conj = unary(np.conjugate)
    real = plain(part(np.real))
    imag = plain(part(np.imag))
    clip = composed.clip

    def where(
        self, condition: Any = MISSING, x1: Any = MISSING, x2: Any = MISSING, /, *more: Any, **others: Any
    ) -> SimArray:
        if x2 is MISSING or more or others:
            raise misformed(SimNamespace.where, (condition, x1, x2, *more), others)
        kind = type(condition) if isinstance(condition, SimArray) else type(x1) if isinstance(x1, SimArray) else None
        first, second = x1, x2
        try:
            if type(x2) is float and isinstance(x1, SimArray) and x1.dtype.kind == "f":
                other = type(x1)  # NumPy's rule is the same there
            else:
                first, second, other = operands(self, x1, x2)
                first, second = in_common(first, second)
            chosen = _where(condition if isinstance(condition, SimArray) else operand(self, condition), first, second)
        except FOREIGN as error:
            raise refused(SimNamespace.where, (condition, x1, x2), {}, error) from error
        result: SimArray = chosen.view(kind or other)
        return result

    def permute_dims(self, *arguments: Any, **others: Any) -> SimArray:
        if others or len(arguments) != 2:
            arguments = placed(SimNamespace.permute_dims, arguments, others)
        x, axes = arguments
        try:
            if axes is None:
                raise TypeError("NumPy reverses all axes then")
            return _transpose(x if isinstance(x, SimArray) else self.asarray(x), axes)
        except FOREIGN as error:
            raise refused(SimNamespace.permute_dims, (x, axes), {}, error) from error

    matrix_transpose = plain(np.matrix_transpose)
    moveaxis = plain(np.moveaxis)

    def reshape(self, *arguments: Any, **others: Any) -> SimArray:
        if others or len(arguments) != 2:
            arguments = placed(SimNamespace.reshape, arguments, others)
        x, shape = arguments
        try:
            result: SimArray = (x if isinstance(x, SimArray) else self.asarray(x)).reshape(shape)
            if result.shape != shape and (shape is None or (np.size(shape) and np.min(shape) < -1)):
                raise TypeError("NumPy takes None, and every negative size for -1")
        except FOREIGN as error:
            raise refused(SimNamespace.reshape, (x, shape), {}, error) from error
        return result

    expand_dims = plain(np.expand_dims)
    squeeze = plain(squeeze)
    broadcast_to = plain(lambda x, shape: np.array(np.broadcast_to(x, shape)))
    broadcast_arrays = several(np.broadcast_arrays)
    concat = joining(np.concatenate)
    stack = joining(np.stack)

    def unstack(self, x: Operand, /, *, axis: int = 0) -> tuple[SimArray, ...]:
        array = self.asarray(x)
        return tuple([np.asarray(one).view(type(array)) for one in np.unstack(view(array, np.ndarray), axis=axis)])

    flip = plain(np.flip)
    roll = plain(roll)
    repeat = plain(np.repeat)
    tile = plain(np.tile)
    take = plain(take)
    take_along_axis = plain(lambda x, indices, *, axis=-1: np.take_along_axis(x, np.asarray(indices), axis))

    sum = reduction(sum_in_dtype, keep_dtype=True, quick=(np.add.reduce, NARROW))
    prod = reduction(product_in_dtype, keep_dtype=True, quick=(np.multiply.reduce, NARROW))
    cumulative_sum = running(np.cumulative_sum)
    cumulative_prod = running(np.cumulative_prod)
    mean = reduction(averaging(mean))
    var = plain(spread(np.var))
    std = plain(spread(np.std))
    max = reduction(of_reals(np.maximum.reduce), quick=(np.maximum.reduce, _COMPLEX))
    min = reduction(of_reals(np.minimum.reduce), quick=(np.minimum.reduce, _COMPLEX))
    all = reduction(np.logical_and.reduce)
    any = reduction(np.logical_or.reduce)
    diff = composed.diff
    matmul = binary(np.matmul)
    vecdot = pairing(np.vecdot)
    tensordot = pairing(np.tensordot)

    argmax = places(np.argmax)
    argmin = places(np.argmin)
    count_nonzero = places(np.count_nonzero)
    searchsorted = places(searchsorted)
    sort = plain(sort)
    argsort = places(argsort)


_QUICK: Final = (
    "binary", "unary", "reduction", "asarray", "zeros", "ones", "full", "where", "permute_dims", "reshape",
)  # fmt: skip
"""The functions, and those that make some, that raise our errors and refuse a call with other arguments themselves."""
for _name in NAMES:
    _function: Any = vars(SimNamespace)[_name]
    if _function.__module__ == binary.__module__:
        _function.__name__ = _name  # for messages
    if _function.__qualname__.partition(".")[0] not in _QUICK and _name not in _QUICK:
        setattr(SimNamespace, _name, guarded(_function, _name, form, FOREIGN))
