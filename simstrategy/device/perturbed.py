"""A backend whose inputs are moved by one unit in the last place (ulp), to measure how sensitive a program is.

Every float that enters through `put` moves to its neighbour, up or down by a fixed pattern; on demand, so do the
results of the functions that libraries round differently. The change of the result is the smallest difference between
two backends that means anything; `simstrategy.check` uses it.
"""

from collections.abc import Callable, Mapping
from math import prod
from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast, final
from zlib import crc32

import numpy as np

from simstrategy.device.namespace import NAMES, ArrayNamespace
from simstrategy.device.protocol import Backend
from simstrategy.device.terms import Array, Device, Op
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, Unsupported

__all__ = [
    "LEFT_MAX",
    "LeftSums",
    "UlpPerturbed",
    "cancelled",
    "largest_beside",
    "largest_of",
    "moved_sums",
    "perturb",
]

_APPROXIMATE: Final = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "logaddexp", "pow", "hypot", "atan2"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
)
"""Functions that libraries compute with an error of an ulp or more."""

_SUMS: Final = (
    *("sum", "mean", "var", "std", "prod", "cumulative_sum", "cumulative_prod", "matmul", "tensordot", "vecdot"),
)
"""Functions whose order of additions is the library's."""

LEFT_MAX: Final = 8.0
"""Units in the last place of the largest element of a sum that may be left where the terms of another one cancel."""

_GOLDEN: Final = 0x9E3779B97F4A7C15
"""2**64 divided by the golden ratio."""
_NEIGHBOURS: Final[dict[str, np.ndarray]] = {
    kind.__name__: np.array([np.nextafter(kind(1), kind(0)), np.nextafter(kind(1), kind(2))])
    for kind in (np.float16, np.float32, np.float64)
}
"""By dtype the neighbours of 1, as [2]: the smaller one and the larger one."""


class LeftSums(NamedTuple):
    """Which sums of the steps of an optimizer rounding may have left.

    true: the names of those that are truly as small. terms: of each step, by name, the size of the largest element of
    the terms, on all replicas; a step or a name that is missing has none that is known.
    """

    true: tuple[str, ...] = ()
    terms: tuple[Mapping[str, float], ...] = ()

    def of_step(self, number: int) -> Mapping[str, float]:
        """Returns the sizes of terms, by name.  number: of the step, from 1."""
        return self.terms[number - 1] if number <= len(self.terms) else {}


def cancelled(
    value: np.ndarray, largest: float | None = None, *, beside: float = 0.0, terms: float = 0.0
) -> np.ndarray:
    """Returns which elements of an array […] of sums may be what rounding leaves of terms that cancel, as bool […].

    Those are not zero, and a few units in the last place of the largest element at most. largest: the size of that one,
    where `value` is a part of the sums. beside: the size of the largest one of all sums of a step, which counts where
    all elements of the array are so small beside it. terms: the size of the largest element of what was added. Only of
    float32 and float64: eight units of a narrower dtype are no small part.

    >>> cancelled(np.array([1.0, 2e-16, 0.0]))
    array([False,  True, False])
    """
    if value.dtype.name not in ("float32", "float64") or not value.size:
        return np.zeros(value.shape, bool)
    sizes = np.abs(value)
    return np.asarray((sizes > 0) & (sizes <= LEFT_MAX * _unit(value, largest, beside, terms)))


def largest_beside(own: float, of_all: float, dtype: str) -> float:
    """Returns the size beside which an array's sums are small: of its largest element, or of the largest one of all.

    The latter where all elements may be what rounding leaves of terms that cancel, as in the gradient of the bias of a
    layer of keys. own: the size of the array's largest element. of_all: of the largest one of all sums of a step and of
    their terms. dtype: float32 or float64; another one has no such elements.

    >>> largest_beside(1e-17, 0.5, "float64"), largest_beside(1e-3, 0.5, "float64")
    (0.5, 0.001)
    """
    if dtype not in ("float32", "float64"):
        return own
    return of_all if 0 < own <= LEFT_MAX * float(np.finfo(dtype).eps) * of_all else own


def largest_of(value: np.ndarray) -> float:
    """Returns the size of the largest finite element of an array […]; 0 of one that has no floats.

    >>> largest_of(np.array([1.0, -3.0, np.inf]))
    3.0
    """
    if value.dtype.kind != "f" or not value.size:
        return 0.0
    return float(np.abs(value).max(where=np.isfinite(value), initial=0))


def _unit(value: np.ndarray, largest: float | None, beside: float, terms: float) -> np.ndarray:
    """Returns one unit in the last place of the largest of sums [...]; NaN and infinity have none that counts."""
    most = largest_beside(largest_of(value), beside, value.dtype.name) if largest is None else largest
    return np.asarray(np.finfo(value.dtype).eps * value.dtype.type(max(most, terms)))


def moved_sums(
    value: np.ndarray, pattern: int, *, largest: float | None = None, beside: float = 0.0, terms: float = 0.0
) -> np.ndarray:
    """Returns a float array […] of sums as `perturb` does; what `cancelled` finds grows, or has the other sign.

    It moves by its size and a unit in the last place of the largest element, in one direction where the pattern is odd,
    and in the other one where it is even. largest, beside, terms: as of `cancelled`.
    """
    moved = perturb(value, pattern)
    left = cancelled(value, largest, beside=beside, terms=terms)
    if not left.any():
        return moved
    step = (np.abs(value) + _unit(value, largest, beside, terms)).astype(value.dtype)
    return np.where(left, np.where(_upward(value.shape, 0) == pattern % 2, value + step, value - step), moved)


def perturb(value: np.ndarray, pattern: int) -> np.ndarray:
    """Returns a float array […] with each finite, non-zero element moved to its neighbour; others as they are.

    pattern: chooses, together with an element's index, between up and down; every pattern is as good as
    a throw of coins, and always the same. Zeros stay, because their neighbours are subnormal: no rounding
    error ever looks like them. So does the largest number where its neighbour is infinity.
    """
    if value.dtype.kind != "f":
        return value
    upward = _upward(value.shape, pattern)
    with np.errstate(all="ignore"):  # of the ends of the range, where neighbours are infinite or subnormal
        moved = np.nextafter(value, np.where(upward, np.inf, -np.inf).astype(value.dtype))
    movable = (value != 0) & np.isfinite(value) & np.isfinite(moved)
    return np.asarray(np.where(movable, moved, value), value.dtype)


def _products(size: int) -> np.ndarray:
    """Returns the products of the indices below a size with `_GOLDEN`, as uint64 [size]."""
    return np.arange(size, dtype=np.uint64) * np.uint64(_GOLDEN)


_FIRST_PRODUCTS: Final = _products(4096)
_SHIFT: Final = np.uint64(29)
_FACTOR: Final = np.uint64(0xBF58476D1CE4E5B9)
_BIT: Final = np.uint64(40)
_ONE: Final = np.uint64(1)


def _upward(shape: tuple[int, ...], pattern: int) -> np.ndarray:
    """Returns for each element of an array of a shape 1 where it moves up, else 0, as uint64 [...]."""
    size = prod(shape)
    products = _FIRST_PRODUCTS[:size] if size <= len(_FIRST_PRODUCTS) else _products(size)
    mixed = products + np.uint64(pattern * 7919 * _GOLDEN % 2**64)
    mixed ^= mixed >> _SHIFT
    mixed *= _FACTOR
    mixed >>= _BIT
    mixed &= _ONE
    return mixed.reshape(shape)


def _nudged(inner: Backend, result: Array, pattern: int, *, sums: bool) -> Array:
    """Returns an array [...] of floats with each element moved by about one ulp; others as they are.

    The pattern depends on the values too, so equal results are moved alike on all replicas, and those of two steps are
    not. Toward zero alone where a size is 1: a sine or a hyperbolic tangent is never larger. sums: leaves integers as
    they are, since sums of integers are exact.
    """
    shape, dtype, _ = inner.spec(result)
    if dtype not in _NEIGHBOURS or None in shape:
        return result
    try:
        host = inner.get(result)
    except (InvalidType, Unsupported):
        return result  # a framework traces, and has no value yet
    neighbours = _NEIGHBOURS[dtype]
    factors = np.asarray(neighbours.take(_upward(host.shape, pattern + crc32(host.tobytes())).view(np.int64)))
    if sums:
        factors[host == np.rint(host)] = 1
    else:
        factors[np.abs(host) == 1] = neighbours[0]
    moved: Array = inner.xp.multiply(result, factors)
    return moved


def _nudging(inner: Backend, pattern: int) -> ArrayNamespace:
    """Returns the namespace of a backend, with results moved of the functions that backends round differently."""

    def moving(name: str, *, sums: bool) -> Callable[..., Array]:
        function: Callable[..., Array] = getattr(inner.xp, name)

        def call(*given: Any, **settings: Any) -> Array:
            return _nudged(inner, function(*given, **settings), pattern, sums=sums)

        return call

    functions: dict[str, Any] = {name: getattr(inner.xp, name) for name in NAMES}
    functions |= {name: moving(name, sums=False) for name in _APPROXIMATE}
    functions |= {name: moving(name, sums=True) for name in _SUMS}
    return cast("ArrayNamespace", SimpleNamespace(**functions))


@final
class UlpPerturbed(Wrapper):
    """A backend that moves host data on its way to the backend inside it.

    functions: whether it also moves the results of functions of which no two libraries round each result alike, and
    those of sums over more than two replicas, whose order is the backend's.
    """

    __slots__ = ("_pattern", "_sums")

    def __init__(self, inner: Backend, pattern: int, *, functions: bool = False) -> None:
        Wrapper.__init__(self, inner)
        self._pattern = pattern
        self._sums = functions and len(inner.devices) > 2
        if functions:
            self.xp = _nudging(inner, pattern)

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        if isinstance(value, np.ndarray) and not isinstance(value, self.array_types):
            return self._inner.put(perturb(value, self._pattern), device)
        return self._inner.put(value, device)

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        results = self._inner.all_reduce(arrays, op)
        if op != "SUM" or not self._sums:
            return results
        return tuple([self._moved(one, device) for one, device in zip(results, self.local_devices, strict=True)])

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        result = self._inner.reduce(arrays, op, root=root)
        if result is None or op != "SUM" or not self._sums:
            return result
        return self._moved(result, self.devices[root])

    def _moved(self, result: Array, device: Device) -> Array:
        with self._inner.on(device):
            moved = _nudged(self._inner, result, self._pattern, sums=True)
        return moved if moved is result else self._inner.put(moved, device)
