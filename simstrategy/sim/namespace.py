"""The simulator's array functions: NumPy's, with the rules of `simstrategy.device.namespace`."""

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from simstrategy.device import canonical_dtype, default_dtype
from simstrategy.errors import InvalidArgument
from simstrategy.sim.arrays import SimArray, current_class, view

__all__ = ["DTYPES", "SimNamespace", "dtype_named", "dtype_names"]

Dtype = np.dtype[Any]
_empty: Final = np.empty
_Plain: Final = np.ndarray

_NAMES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def _bfloat16() -> Dtype | None:
    """bfloat16 comes with the extra `bfloat16`: NumPy alone has none."""
    try:
        import ml_dtypes  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    found: Dtype = np.dtype(ml_dtypes.bfloat16)
    return found


DTYPES: Final[dict[str, Dtype]] = {name: np.dtype(name) for name in _NAMES}
dtype_names: Final[dict[Dtype, str]] = {dtype: name for name, dtype in DTYPES.items()}


def dtype_named(dtype: Any) -> Dtype:
    """Returns NumPy's dtype for a name; bfloat16 is looked for when it is first asked for."""
    name = canonical_dtype(dtype)
    if name == "bfloat16" and name not in DTYPES:
        found = _bfloat16()
        if found is None:
            raise InvalidArgument("bfloat16 needs the package ml_dtypes: pip install 'simstrategy[bfloat16]'.")
        DTYPES[name], dtype_names[found] = found, name
    if name not in DTYPES:
        raise InvalidArgument(f"There is no dtype {name!r}; choose from {', '.join(DTYPES)}, bfloat16.")
    return DTYPES[name]


def _result(function: Callable[..., Any]) -> Any:
    """Makes a NumPy function of one array; a view of host data would let replicas write to it."""

    def call(_self: "SimNamespace", x: Any, /, *arguments: Any, **keywords: Any) -> Any:
        result = function(x if isinstance(x, SimArray) else _self.asarray(x), *arguments, **keywords)
        return result if isinstance(result, SimArray) else _self.place(result)

    return call


def _joining(function: Callable[..., Any]) -> Any:
    """Makes a NumPy function of several arrays."""

    def call(_self: "SimNamespace", arrays: Any, /, *, axis: int = 0) -> Any:
        adopted = [array if isinstance(array, SimArray) else _self.asarray(array) for array in arrays]
        return _self.place(function(adopted, axis=axis))

    return call


def _operand(namespace: "SimNamespace", x: Any) -> Any:
    """Makes an array of a list, in the default dtype; a number beside an array takes the array's."""
    return namespace.asarray(x) if isinstance(x, (list, tuple)) else x


# NumPy takes longer to carry a subclass through an operation than to add two short arrays: the functions below let it
# compute with plain arrays, and take a view of the result, which costs next to nothing.


def _binary(function: Callable[..., Any]) -> Any:
    def call(_self: "SimNamespace", x1: Any, x2: Any, /) -> Any:
        kind, other = type(x1), type(x2)
        if (other is not kind and other is not float) or not isinstance(x1, SimArray):
            x1, x2, kind = _operands(_self, x1, x2)
        result = function(x1, x2, subok=False)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def _operands(namespace: "SimNamespace", x1: Any, x2: Any) -> tuple[Any, Any, type[SimArray]]:
    """Returns what to compute with, and the class of the result."""
    kind = type(x1) if isinstance(x1, SimArray) else type(x2) if isinstance(x2, SimArray) else namespace.kind
    if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
        x1 = namespace.asarray(x1)
    return _operand(namespace, x1), _operand(namespace, x2), kind


def _true_divide(x1: Any, x2: Any, *, subok: bool) -> Any:
    # NumPy divides a complex number by a real one through an inverse, which may be one ulp off; means want its parts.
    if type(x2) is float and isinstance(x1, np.ndarray) and x1.dtype.kind == "c":
        result = np.empty_like(x1, subok=subok)
        result.real, result.imag = x1.real / x2, x1.imag / x2
        return result
    return np.true_divide(x1, x2, subok=subok)


def _unary(function: Callable[..., Any]) -> Any:
    def call(_self: "SimNamespace", x: Any, /) -> Any:
        array = x if isinstance(x, SimArray) else _self.asarray(x)
        result = function(array, subok=False)
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


_transpose: Final[Callable[..., Any]] = np.ndarray.transpose
_ADD: Final[Callable[..., Any]] = np.add.reduce
_HALF: Final = np.dtype(np.float16).num


def _sum(array: Any, axis: Any, dtype: Any, out: Any, keepdims: Any) -> Any:
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


def _reduction(function: Callable[..., Any], *, keep_dtype: bool = False) -> Any:
    """Makes a reduction of one called as `function(array, axis, dtype, None, keepdims)`."""

    def call(_self: "SimNamespace", x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
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


@final
class SimNamespace:
    """See `simstrategy.device.namespace`; `default` is the device outside replica functions."""

    __slots__ = ("_default",)

    def __init__(self, default: type[SimArray]) -> None:
        self._default = default

    @property
    def kind(self) -> type[SimArray]:
        """The class of what is created here: of the running replica's device."""
        return current_class() or self._default

    def place(self, value: Any) -> SimArray:
        """Returns a NumPy result as an array of the running replica's device."""
        if isinstance(value, SimArray):
            return value
        return np.asarray(value).view(self.kind)

    def asarray(self, value: Any, *, dtype: Any = None) -> SimArray:
        if dtype is None and isinstance(value, SimArray):
            return value
        wanted = None if dtype is None else dtype_named(dtype)
        if not isinstance(value, (np.ndarray, np.generic)):
            try:
                plain = np.asarray(value)
            except ValueError as error:
                raise InvalidArgument(
                    f"xp.asarray cannot make an array of {value!r}: {error}. Give equal rows."
                ) from error
            usual = default_dtype(plain.dtype.kind)
            wanted = wanted or (dtype_named(usual) if usual else None)
            value = plain
        array = np.array(value, dtype=wanted, copy=True)
        if array.dtype not in dtype_names:
            array = array.astype(dtype_named(array.dtype.name))  # the machine's byte order, or no dtype of ours
        return self.place(array)

    def zeros(self, shape: Any, *, dtype: Any = None) -> SimArray:
        return self.place(np.zeros(shape, dtype_named(dtype or "float32")))

    def ones(self, shape: Any, *, dtype: Any = None) -> SimArray:
        return self.place(np.ones(shape, dtype_named(dtype or "float32")))

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> SimArray:
        wanted = DTYPES.get(dtype) or (self.asarray(fill_value).dtype if dtype is None else dtype_named(dtype))
        array = _empty(shape, wanted)
        array.fill(fill_value)
        return array.view(current_class() or self._default)

    def zeros_like(self, x: Any, /, *, dtype: Any = None) -> SimArray:
        return self.full_like(x, 0, dtype=dtype)

    def ones_like(self, x: Any, /, *, dtype: Any = None) -> SimArray:
        return self.full_like(x, 1, dtype=dtype)

    def full_like(self, x: Any, /, fill_value: Any, *, dtype: Any = None) -> SimArray:
        array = x if isinstance(x, np.ndarray) else self.asarray(x)
        wanted = dtype_named(dtype) if dtype is not None else array.dtype
        return self.place(np.full(array.shape, fill_value, wanted))

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> SimArray:
        plain = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
        return self.place(plain.astype(dtype_named(dtype or default_dtype(plain.dtype.kind))))

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, dtype: Any = None) -> SimArray:
        return self.place(np.eye(n_rows, n_cols, dtype=dtype_named(dtype or "float32")))

    def astype(self, x: Any, dtype: Any, /) -> SimArray:
        array = x if isinstance(x, np.ndarray) else self.asarray(x)
        return self.place(array.astype(dtype_named(dtype)))

    add = _binary(np.add)
    subtract = _binary(np.subtract)
    multiply = _binary(np.multiply)
    divide = _binary(_true_divide)
    pow = _binary(np.power)
    maximum = _binary(np.maximum)
    minimum = _binary(np.minimum)
    equal = _binary(np.equal)
    not_equal = _binary(np.not_equal)
    less = _binary(np.less)
    less_equal = _binary(np.less_equal)
    greater = _binary(np.greater)
    greater_equal = _binary(np.greater_equal)
    logical_and = _binary(np.logical_and)
    logical_or = _binary(np.logical_or)
    logical_not = _unary(np.logical_not)
    negative = _unary(np.negative)
    abs = _unary(np.abs)
    sign = _unary(np.sign)
    square = _unary(np.square)
    sqrt = _unary(np.sqrt)
    exp = _unary(np.exp)
    log = _unary(np.log)
    log1p = _unary(np.log1p)
    tanh = _unary(np.tanh)
    floor = _unary(np.floor)
    ceil = _unary(np.ceil)
    isfinite = _unary(np.isfinite)
    isnan = _unary(np.isnan)

    def where(self, condition: Any, x1: Any, x2: Any, /) -> SimArray:
        if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
            x1, x2 = self.asarray(x1), self.asarray(x2)
        return self.place(np.where(condition, _operand(self, x1), _operand(self, x2)))

    matmul = _binary(np.matmul)

    def permute_dims(self, x: Any, /, axes: tuple[int, ...]) -> SimArray:
        result: SimArray = _transpose(x if isinstance(x, SimArray) else self.asarray(x), axes)
        return result

    def reshape(self, x: Any, /, shape: tuple[int, ...]) -> SimArray:
        array: Any = x if isinstance(x, SimArray) else self.asarray(x)
        result: SimArray = array.reshape(shape)
        return result

    expand_dims = _result(np.expand_dims)
    squeeze = _result(np.squeeze)

    def broadcast_to(self, x: Any, /, shape: tuple[int, ...]) -> SimArray:
        return self.place(np.array(np.broadcast_to(x, shape)))

    concat = _joining(np.concatenate)
    stack = _joining(np.stack)
    take = _result(np.take)
    sum = _reduction(_sum, keep_dtype=True)
    prod = _reduction(np.multiply.reduce, keep_dtype=True)
    mean = _reduction(np.mean)
    max = _reduction(np.maximum.reduce)
    min = _reduction(np.minimum.reduce)
    all = _reduction(np.logical_and.reduce)
    any = _reduction(np.logical_or.reduce)

    def argmax(self, x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> SimArray:
        return self.place(np.asarray(np.argmax(x, axis=axis, keepdims=keepdims), np.int32))
