"""A complete backend on NumPy, to start from: docs/writing_a_backend.md goes through it line by line.

It simulates nothing that the simulator does not do better: no clusters, no read-only arrays, no speed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import reduce
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from simstrategy.device import (
    PROTOCOL_VERSION,
    ArraySpec,
    Backend,
    Capabilities,
    Device,
    Op,
    completed,
    host_array,
)
from simstrategy.errors import InvalidArgument

__all__ = ["ToyArray", "ToyBackend", "ToyCell", "open_template"]

DTYPES: Final = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
)
COMBINE: Final = {"SUM": np.add, "MIN": np.minimum, "MAX": np.maximum}
HERE: ContextVar[str] = ContextVar("toy device", default="toy:0")


@dataclass(frozen=True, slots=True, eq=False)
class ToyArray:
    """An array on a device.  `host` is never written to."""

    host: np.ndarray
    placement: str


def adopt(value: Any, dtype: str | None = None) -> np.ndarray:
    """Copies host data; Python's numbers get `dtype`, or the default dtype of their kind."""
    return np.array(array := host_array(value, dtype), array.dtype.newbyteorder("="), copy=True)


def lifted(function: Callable[..., Any], count: int, dtype: str | None = None) -> Callable[..., Any]:
    """Makes a function on ToyArrays of NumPy's, whose first `count` arguments are arrays; 0: one list of them.

    dtype: that of the result, where it is not NumPy's.
    """

    def call(*given: Any, **options: Any) -> ToyArray | list[ToyArray]:
        found, rest = (list(given[0]), given[1:]) if count == 0 else (list(given[:count]), given[count:])
        place = next((one.placement for one in found if isinstance(one, ToyArray)), HERE.get())
        # Beside arrays of the backend there are host arrays, and Python numbers, which take the dtype beside them.
        found = [one.host if isinstance(one, ToyArray) else one for one in found]
        others = [one.host if isinstance(one, ToyArray) else one for one in rest]
        settings = {key: one.host if isinstance(one, ToyArray) else one for key, one in options.items()}
        result = function(*([found] if count == 0 else found), *others, **settings)
        if isinstance(result, tuple):
            return [ToyArray(np.array(one), place) for one in result]
        return ToyArray(np.asarray(result).astype(dtype or result.dtype), place)

    return call


def keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a sum or product that keeps its dtype."""
    return lambda x, **options: function(x, dtype=x.dtype, **options)


def sort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Sorts, up or down."""
    return np.flip(np.sort(x, axis), axis) if descending else np.sort(x, axis)


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Returns the places that sort; equal elements keep their order, down as well."""
    places = np.argsort(np.flip(x, axis) if descending else x, axis, stable=True)
    return np.flip(x.shape[axis] - 1 - places, axis) if descending else places


def asarray(value: Any, *, dtype: str | None = None) -> ToyArray:
    """Adopts host data on the current device."""
    array = value if isinstance(value, ToyArray) else ToyArray(adopt(value, dtype), HERE.get())
    return array if dtype is None else ToyArray(array.host.astype(dtype), array.placement)


def full(shape: Any, fill_value: Any, *, dtype: str | None = None) -> ToyArray:
    """Repeats a number, or an array without axes."""
    number = fill_value.host if isinstance(fill_value, ToyArray) else fill_value
    return ToyArray(np.full(shape, number, dtype), HERE.get())


def divide(x: Any, y: Any) -> Any:
    """Divides with one rounding, each part of a complex number separately."""
    if isinstance(x, np.ndarray) and x.dtype.kind == "c" and not np.iscomplexobj(y):
        return np.stack([x.real / y, x.imag / y], -1).view(x.dtype)[..., 0]  # each part is rounded once
    return np.true_divide(x, y)


ONE = """negative positive abs sign signbit square sqrt exp expm1 log log1p log2 log10 sin cos tan asin acos atan sinh
    cosh tanh asinh acosh atanh floor ceil trunc round isfinite isinf isnan conj real imag logical_not bitwise_invert
    astype permute_dims matrix_transpose moveaxis reshape expand_dims squeeze broadcast_to flip roll repeat tile tril
    triu diff mean var std max min all any""".split()
TWO = """add subtract multiply floor_divide remainder pow maximum minimum atan2 copysign hypot logaddexp nextafter equal
    not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or
    bitwise_xor bitwise_left_shift bitwise_right_shift matmul vecdot tensordot take take_along_axis""".split()
SUMS = "sum prod cumulative_sum cumulative_prod".split()
PLACES = {"argmax": 1, "argmin": 1, "count_nonzero": 1, "searchsorted": 2}
FUNCTIONS: dict[str, Any] = {name: lifted(getattr(np, name), 1) for name in ONE}
FUNCTIONS |= {name: lifted(getattr(np, name), 2) for name in TWO} | {"divide": lifted(divide, 2)}
FUNCTIONS |= {"where": lifted(np.where, 3), "concat": lifted(np.concat, 0), "stack": lifted(np.stack, 0)}
FUNCTIONS |= {"asarray": asarray, "full": full, "full_like": lifted(np.full_like, 1)}
FUNCTIONS |= {"eye": lambda *given, dtype="float32", **how: ToyArray(np.eye(*given, dtype=dtype, **how), HERE.get())}
FUNCTIONS |= {name: lifted(getattr(np, name), 99) for name in ("meshgrid", "broadcast_arrays", "unstack")}
FUNCTIONS |= {"sort": lifted(sort, 1), "argsort": lifted(argsort, 1, "int32")}
FUNCTIONS |= {name: lifted(keeping(getattr(np, name)), 1) for name in SUMS}
FUNCTIONS |= {name: lifted(getattr(np, name), count, "int32") for name, count in PLACES.items()}


def form(value: Any) -> tuple[tuple[int, ...], str] | None:
    """Returns shape and dtype of a ToyArray, None for anything else."""
    return (value.host.shape, value.host.dtype.name) if isinstance(value, ToyArray) else None


@final
class ToyCell:
    """A variable's storage: the array itself, since no array is written to."""

    def __init__(self, initial: ToyArray) -> None:
        self.native = initial

    def read(self) -> ToyArray:
        return self.native

    def write(self, value: ToyArray) -> None:
        self.native = value


@final
class ToyBackend:
    """Any number of devices in one process."""

    name = "template"
    protocol_version = PROTOCOL_VERSION
    capabilities = Capabilities(
        dtypes=frozenset(DTYPES), executor="greenlet", reproducible_bits=True, mutable_arrays=False
    )
    array_types = (ToyArray,)
    xp = completed(FUNCTIONS, form)
    autodiff = memory = forms = compilation = frontend = composites = None
    cell = ToyCell

    def __init__(self, devices: tuple[Device, ...]) -> None:
        self.devices = self.local_devices = devices

    @contextmanager
    def on(self, device: Device) -> Iterator[None]:
        token = HERE.set(device.placement)
        try:
            yield
        finally:
            HERE.reset(token)

    def synchronize(self) -> None:
        pass

    def close(self) -> None:
        pass

    def put(self, value: Any, device: Device) -> ToyArray:
        if isinstance(value, ToyArray):
            return ToyArray(value.host, device.placement)
        if value.dtype.name not in DTYPES:
            raise InvalidArgument(f"There is no dtype {value.dtype.name!r} here; choose from {', '.join(DTYPES)}.")
        return ToyArray(np.array(value, value.dtype.newbyteorder("="), copy=True), device.placement)

    def get(self, array: ToyArray) -> np.ndarray:
        return np.array(array.host, copy=True)

    def spec(self, array: ToyArray) -> ArraySpec:
        return ArraySpec(array.host.shape, array.host.dtype.name, array.placement)

    def all_reduce(self, arrays: tuple[ToyArray, ...], op: Op) -> tuple[ToyArray, ...]:
        total = np.asarray(reduce(COMBINE[op], [array.host for array in arrays]))
        return tuple(ToyArray(total, device.placement) for device in self.devices)

    def reduce(self, arrays: tuple[ToyArray, ...], op: Op, *, root: int) -> ToyArray:
        return self.all_reduce(arrays, op)[root]

    def broadcast(self, array: Any, *, spec: ArraySpec, root: int) -> tuple[ToyArray, ...]:
        return tuple(self.put(array, device) for device in self.devices)

    def all_gather(self, arrays: tuple[ToyArray, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[ToyArray, ...]:
        whole = np.concatenate([array.host for array in arrays], axis)
        return tuple(ToyArray(whole, device.placement) for device in self.devices)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        return (note,)

    def prepare(self, function: Any) -> Any:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno


def open_template(*, replicas: int | None = None) -> ToyBackend:
    """Opens a backend of `replicas` devices (default 1).  Raises InvalidArgument for less than 1."""
    count = 1 if replicas is None else replicas
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InvalidArgument(f"The template takes a number of replicas of at least 1, got {replicas!r}.")
    return ToyBackend(tuple(Device(rank, 0, f"toy:{rank}") for rank in range(count)))


if TYPE_CHECKING:
    _: Backend[ToyArray] = ToyBackend(())
