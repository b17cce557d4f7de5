"""PyTorch's array functions with the rules of `simstrategy.device.namespace`.

All arithmetic is PyTorch's. NumPy makes tensors of host data, and says to which dtype two promote.
"""

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
import torch

from simstrategy.device import ArrayNamespace, default_dtype
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_torch.arrays import host_dtype, named

__all__ = ["TorchNamespace"]

_Function = Callable[..., Any]
_Tensor = torch.Tensor
_WEAK: Final = (bool, int, float, complex)


def _tensor(place: str, value: Any, dtype: torch.dtype | None = None) -> _Tensor:
    """Returns a tensor of any data.  Python numbers and lists get a default dtype, other data keep theirs.

    place: the device of what is made of host data; a tensor stays where it is.
    """
    if isinstance(value, _Tensor):
        return value if dtype in (None, value.dtype) else value.to(dtype)
    made = _host_tensor(value, dtype)
    return made if place == "cpu" else made.to(place)


def _host_tensor(value: Any, dtype: torch.dtype | None) -> _Tensor:
    usual = None
    if not isinstance(value, (np.ndarray, np.generic)):
        try:
            value = np.asarray(value)
        except ValueError as error:
            raise InvalidType(f"xp.asarray cannot make an array of {value!r}: {error}. Give equal rows.") from error
        usual = default_dtype(value.dtype.kind)
    wanted = dtype or named(usual or value.dtype)
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(value, copy=True).view(np.int16)).view(torch.bfloat16).to(wanted)
    host = host_dtype(wanted)
    if wanted is torch.bfloat16 or host is None:
        return torch.from_numpy(np.array(value, np.float32)).to(wanted)
    return torch.from_numpy(np.array(value, host, order="C", copy=True, subok=False))


def _is_weak(value: Any) -> bool:
    return isinstance(value, _WEAK) and not isinstance(value, np.generic)


def _kind(dtype: torch.dtype) -> int:
    """Returns where a dtype stands among Python's bool, int, float and complex."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is torch.bool else 1


def _common_dtype(dtypes: list[torch.dtype], weak: list[Any]) -> torch.dtype:
    """Returns what NumPy promotes to; where bfloat16 is nothing to NumPy, what PyTorch does."""
    try:
        if torch.bfloat16 not in dtypes or host_dtype(torch.bfloat16) is not None:
            return named(np.result_type(*map(host_dtype, dtypes), *weak))
    except TypeError:  # bfloat16 and an integer
        pass
    return reduce(torch.promote_types, [*dtypes, *[_host_tensor(one, None).dtype for one in weak]])


def _promoted(place: str, *values: Any) -> list[_Tensor]:
    """Returns tensors of one dtype: that of the arrays among them, widened as NumPy does where it must be."""
    if all(_is_weak(value) for value in values):
        values = (_tensor(place, values[0]), *values[1:])
    data = [value if _is_weak(value) else _tensor(place, value) for value in values]
    dtypes = [value.dtype for value in data if not _is_weak(value)]
    weak = [value for value in data if _is_weak(value)]
    dtype = dtypes[0]
    if any(one != dtype for one in dtypes) or any(not isinstance(one, _WEAK[: _kind(dtype) + 1]) for one in weak):
        dtype = _common_dtype(dtypes, weak)
    return [_scalar(place, one, dtype) if _is_weak(one) else _tensor(place, one, dtype) for one in data]


def _scalar(place: str, number: Any, dtype: torch.dtype) -> _Tensor:
    """Returns a Python number in a dtype.  Raises OverflowError where the dtype has no such number."""
    return _tensor(place, number if dtype is torch.bfloat16 else np.asarray(number, host_dtype(dtype)), dtype)


def _unary(function: _Function, *, bools: _Function | None = None, integers: _Function | None = None) -> Any:
    """Makes a method of one array and settings.  bools, integers: what is done for those instead."""

    def call(self: "TorchNamespace", x: Any, /, *settings: Any, **keywords: Any) -> Any:
        tensor = x if isinstance(x, _Tensor) else _tensor(self.placement, x)
        special = (bools, integers, None, None)[_kind(tensor.dtype)] if bools or integers else None
        return (special or function)(tensor, *settings, **keywords)

    return call


def _binary(function: _Function, *, bools: _Function | None = None) -> Any:
    """Makes a method of two arrays.  bools: what is done for bool instead."""

    def call(self: "TorchNamespace", x1: Any, x2: Any, /) -> Any:
        if not (isinstance(x1, _Tensor) and isinstance(x2, _Tensor) and x1.dtype == x2.dtype):
            x1, x2 = _promoted(self.placement, x1, x2)
        return (bools if bools is not None and x1.dtype is torch.bool else function)(x1, x2)

    return call


def _add(x1: _Tensor, x2: _Tensor) -> _Tensor:
    """Adds; complex numbers part by part, because PyTorch multiplies the second by 1 + 0j first."""
    if not x1.is_complex():
        return torch.add(x1, x2)
    parts = [torch.view_as_real(one.resolve_conj()) for one in torch.broadcast_tensors(x1, x2)]  # type: ignore[no-untyped-call]
    return torch.view_as_complex(torch.add(*parts))


_divide: Final = _binary(torch.divide)


def _divide_parts(self: "TorchNamespace", x1: Any, x2: Any, /) -> Any:
    """Divides; a complex tensor by a real number part by part, which PyTorch rounds otherwise."""
    if isinstance(x2, float) and isinstance(x1, _Tensor) and x1.is_complex():
        return torch.view_as_complex(torch.view_as_real(x1.resolve_conj()) / x2)
    return _divide(self, x1, x2)


def _logical(function: _Function) -> Any:
    return lambda self, x1, x2, /: function(_tensor(self.placement, x1), _tensor(self.placement, x2))


def _joining(function: _Function) -> Any:
    return lambda self, arrays, /, *, axis=0: function(_promoted(self.placement, *arrays), axis)


def _reduction(function: _Function, **special: _Function) -> Any:
    """Makes a method that calls function(tensor, axes, keepdim), with one axis at least, none negative."""

    def call(x: _Tensor, *, axis: Any = None, keepdims: bool = False) -> _Tensor:
        axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else axis
        if any(not -x.ndim <= one < x.ndim for one in axes):
            raise InvalidArgument(f"There is no axis {axis} in shape {list(x.shape)}: count from {-x.ndim} on.")
        places = tuple([one % x.ndim for one in axes])
        chosen = special.get(("bools", "integers", "", "")[_kind(x.dtype)], function)
        # To PyTorch, no axes means all: a new axis of one element is reduced in their place.
        result: _Tensor = chosen(x, places, keepdims) if places else chosen(x[None], (0,), False)
        return result

    return _unary(call)


def _prod(x: _Tensor, axes: tuple[int, ...], keepdim: bool) -> _Tensor:
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim, dtype=x.dtype)
    return x


def _of_some(function: _Function) -> _Function:
    def call(x: _Tensor, axes: tuple[int, ...], keepdim: bool) -> _Tensor:
        if any(x.shape[axis] == 0 for axis in axes):
            raise InvalidArgument(f"Nothing has no largest or smallest: {list(x.shape)} along axes {axes}.")
        result: _Tensor = function(x, axes, keepdim)
        return result

    return call


def _argmax(x: _Tensor, axes: tuple[int, ...], keepdim: bool) -> _Tensor:
    """Returns the first place of the largest element, or of the first NaN."""
    comparable = x.to(torch.uint8) if x.dtype is torch.bool else x
    axis = axes[0] if len(axes) == 1 else None
    return torch.argmax(comparable, axis, keepdim).to(torch.int32)


def _pow(x1: _Tensor, x2: _Tensor) -> _Tensor:
    if _kind(x1.dtype) == 1 and bool((x2 < 0).any()):
        raise InvalidArgument(f"{x1.dtype} to a negative power is no integer. Cast to a float first.")
    return torch.pow(x1, x2)


def _sign(x: _Tensor) -> _Tensor:
    return torch.where(torch.isnan(x), x, torch.sgn(x))  # sgn(NaN) is 0


def _squeeze(x: _Tensor, axis: int | tuple[int, ...]) -> _Tensor:
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(x.shape[one] != 1 for one in axes):  # PyTorch would leave them as they are
        raise InvalidArgument(f"squeeze got axis {axis} of shape {list(x.shape)}: only axes of size 1 can go.")
    return torch.squeeze(x, axes)


def _take(x: _Tensor, indices: Any, *, axis: int) -> _Tensor:
    """Counts from the end where an index is negative; beyond the ends PyTorch raises IndexError."""
    places = _tensor(str(x.device), indices)
    if _kind(places.dtype) != 1:
        raise InvalidType(f"take got {places.dtype} as indices: cast them to int32 or int64 first.")
    axis %= x.ndim
    flat = places.reshape(-1).to(torch.int64)
    chosen = torch.index_select(x, axis, torch.where(flat < 0, flat + x.shape[axis], flat))
    return chosen.reshape(*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])


def _shape(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(shape)


def _filled(place: str, shape: Any, fill_value: Any, dtype: torch.dtype | None) -> _Tensor:
    value = _tensor(place, fill_value, dtype)
    return torch.empty(_shape(shape), dtype=value.dtype, device=place).copy_(value)


def _filled_like(x: _Tensor, fill_value: Any, *, dtype: Any = None) -> _Tensor:
    return _filled(str(x.device), x.shape, fill_value, x.dtype if dtype is None else named(dtype))


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
            return value.to(named(dtype), copy=True)
        return _tensor(self.placement, value, None if dtype is None else named(dtype))

    def zeros(self, shape: Any, *, dtype: Any = None) -> _Tensor:
        return _filled(self.placement, shape, 0, named(dtype or "float32"))

    def ones(self, shape: Any, *, dtype: Any = None) -> _Tensor:
        return _filled(self.placement, shape, 1, named(dtype or "float32"))

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None) -> _Tensor:
        return _filled(self.placement, shape, fill_value, None if dtype is None else named(dtype))

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> _Tensor:
        plain = np.arange(start, step=step) if stop is None else np.arange(start, stop, step)
        return self.asarray(plain, dtype=dtype or default_dtype(plain.dtype.kind))

    def eye(self, n_rows: int, n_cols: int | None = None, /, *, dtype: Any = None) -> _Tensor:
        columns = n_rows if n_cols is None else n_cols
        return torch.eye(n_rows, columns, dtype=named(dtype or "float32"), device=self.placement)

    def where(self, condition: Any, x1: Any, x2: Any, /) -> _Tensor:
        first, second = _promoted(self.placement, x1, x2)
        return torch.where(_tensor(self.placement, condition, torch.bool), first, second)

    zeros_like = _unary(lambda x, **dtype: _filled_like(x, 0, **dtype))
    ones_like = _unary(lambda x, **dtype: _filled_like(x, 1, **dtype))
    full_like = _unary(_filled_like)
    astype = _unary(lambda x, dtype: x.to(named(dtype), copy=True))

    add = _binary(_add)
    subtract = _binary(torch.subtract)
    multiply = _binary(torch.multiply)
    divide = _divide_parts
    pow = _binary(_pow)
    maximum = _binary(torch.maximum)
    minimum = _binary(torch.minimum)
    equal = _binary(torch.eq)
    not_equal = _binary(torch.ne)
    less = _binary(torch.lt)
    less_equal = _binary(torch.le)
    greater = _binary(torch.gt)
    greater_equal = _binary(torch.ge)
    logical_and = _logical(torch.logical_and)
    logical_or = _logical(torch.logical_or)
    logical_not = _unary(torch.logical_not)
    negative = _unary(torch.negative)
    abs = _unary(torch.abs, bools=torch.clone)
    sign = _unary(_sign)
    square = _unary(torch.square)
    sqrt = _unary(torch.sqrt)
    exp = _unary(torch.exp)
    log = _unary(torch.log)
    log1p = _unary(torch.log1p)
    tanh = _unary(torch.tanh)
    floor = _unary(torch.floor, bools=torch.clone)
    ceil = _unary(torch.ceil, bools=torch.clone)
    isfinite = _unary(torch.isfinite)
    isnan = _unary(torch.isnan)

    matmul = _binary(torch.matmul, bools=lambda a, b: torch.matmul(a.to(torch.int64), b.to(torch.int64)) != 0)
    permute_dims = _unary(torch.permute)
    reshape = _unary(lambda x, shape: torch.reshape(x, _shape(shape)))
    expand_dims = _unary(lambda x, *, axis: torch.unsqueeze(x, axis))
    squeeze = _unary(_squeeze)
    broadcast_to = _unary(lambda x, shape: x.expand(_shape(shape)).clone(memory_format=torch.contiguous_format))
    concat = _joining(torch.cat)
    stack = _joining(torch.stack)
    take = _unary(_take)

    sum = _reduction(lambda x, axes, keepdim: torch.sum(x, axes, keepdim, dtype=x.dtype))
    prod = _reduction(_prod)
    mean = _reduction(
        torch.mean,
        bools=lambda x, axes, keepdim: torch.mean(x.to(torch.float64), axes, keepdim),
        integers=lambda x, axes, keepdim: torch.mean(x.to(torch.float64), axes, keepdim),
    )
    max = _reduction(_of_some(torch.amax))
    min = _reduction(_of_some(torch.amin))
    all = _reduction(lambda x, axes, keepdim: torch.all(x.to(torch.bool), axes, keepdim))
    any = _reduction(lambda x, axes, keepdim: torch.any(x.to(torch.bool), axes, keepdim))
    argmax = _reduction(_of_some(_argmax))


if TYPE_CHECKING:
    _: ArrayNamespace = TorchNamespace("cpu")
