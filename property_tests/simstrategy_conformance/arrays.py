"""Host arrays of all dtypes and shapes, as strategies; and the few things that tests do to a backend's arrays.

Exact numbers, for tests of semantics: sums of them are exact in any order.
"""

import functools
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

from simstrategy.device import Backend
from simstrategy_conformance.observe import first_difference
from simstrategy_conformance.sampled import sampled
from simstrategy_conformance.subject import Subject

__all__ = [
    "NUMBERS",
    "SHAPES",
    "Group",
    "exact_arrays",
    "floats_of",
    "groups",
    "host_dtype",
    "put_all",
    "require_bits",
    "require_equal",
    "require_form",
    "scribble",
    "special_arrays",
    "strewn",
]

Host = np.ndarray[Any, Any]

NUMBERS: Final = (
    "float32", "int32", "float64", "int64", "float16", "int8", "uint8", "int16", "complex64", "complex128",
    "uint16", "uint32", "uint64",
)  # fmt: skip
SHAPES: Final = st.sampled_from([(), (1,), (2,), (0,), (3,), (2, 2), (2, 0), (1, 2, 1)])


class Group(NamedTuple):
    """One array for each rank, of one form."""

    arrays: tuple[Host, ...]

    @property
    def ranks(self) -> int:
        return len(self.arrays)

    def __repr__(self) -> str:
        form = f"{self.arrays[0].dtype.name}{list(self.arrays[0].shape)}"
        return f"{self.ranks} ranks of {form}: {[array.tolist() for array in self.arrays]}"


@functools.cache  # Hypothesis examines each strategy once
def _element(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    if dtype.kind == "b":
        return st.booleans()
    if dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        small = st.integers(0 if dtype.kind == "u" else -9, 9)
        ends = st.sampled_from([int(bounds.max), int(bounds.min)])
        return small | st.integers(int(bounds.min), int(bounds.max)) | ends
    quarters = st.integers(-16, 16).map(lambda n: n / 4)
    return st.builds(complex, quarters, quarters) if dtype.kind == "c" else quarters


@functools.cache
@st.composite
def exact_arrays(draw: Any, dtype: str, shape: tuple[int, ...]) -> Host:
    """Draws an array whose numbers add without rounding."""
    plain = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    element = _element(plain)
    return np.array([draw(element) for _ in range(count)], plain).reshape(shape)


def host_dtype(name: str) -> np.dtype[Any] | None:
    """Returns NumPy's dtype of a name; None for one that this installation has not."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        found: np.dtype[Any] = np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return found


def finfo_of(dtype: np.dtype[Any]) -> Any:
    """Returns the limits of a dtype of floats or complex numbers, as `np.finfo` does."""
    return import_module("ml_dtypes").finfo(dtype) if dtype.name == "bfloat16" else np.finfo(dtype)


def floats_of(dtype: str) -> st.SearchStrategy[float]:
    """Draws floats of a dtype: also huge, tiny, subnormal, infinite, NaN and negative zeros."""
    width: Any = {"float16": 16, "float32": 32, "float64": 64}[dtype]
    info = np.finfo(dtype)
    edges = [float(one) for one in (info.smallest_subnormal, info.tiny, info.max, info.eps)]
    special = st.sampled_from([-0.0, *edges, *(-edge for edge in edges), float("inf"), -float("inf"), float("nan")])
    return st.floats(width=width, allow_nan=True, allow_infinity=True, allow_subnormal=True) | special


@st.composite
def special_arrays(draw: Any, dtype: str, shape: tuple[int, ...]) -> Host:
    """Draws an array of any numbers of a dtype at all."""
    plain = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    if plain.kind not in "fc":
        return np.array(draw(exact_arrays(dtype, shape)))
    part = floats_of(dtype if plain.kind == "f" else "float32" if plain.itemsize == 8 else "float64")
    element = part if plain.kind == "f" else st.builds(complex, part, part)
    return np.array([draw(element) for _ in range(count)], plain).reshape(shape)


def strewn(array: Host) -> Host:
    """Returns a copy [...] of floats or complex numbers that begins with NaN, -0.0, a subnormal number and infinity."""
    if array.dtype.kind not in "fc":
        return array
    found = array.copy()
    flat = found.reshape(-1)
    special = [float("nan"), -0.0, float(np.finfo(array.dtype).smallest_subnormal), -float("inf")]
    flat[:4] = special[: flat.size]
    return found


@st.composite
def groups(draw: Any, subject: Subject, *, dtypes: Sequence[str] = NUMBERS, replicas_min: int = 1) -> Group:
    """Draws one exact array for each rank."""
    most = max(subject.profile.replicas_max, replicas_min)
    ranks = draw(sampled([n for n in (2, 3, 1, 4, most) if replicas_min <= n <= most]))
    dtype = draw(sampled(subject.having(*dtypes)))
    shape = draw(SHAPES)
    return Group(tuple(draw(exact_arrays(dtype, shape)) for _ in range(ranks)))


def put_all(backend: Backend, arrays: Sequence[Host]) -> tuple[Any, ...]:
    """Puts one array on each device."""
    return tuple(backend.put(array, device) for array, device in zip(arrays, backend.devices, strict=True))


def scribble(array: Any) -> bool:
    """Overwrites an array of numbers where its type allows it; returns whether it was overwritten."""
    try:
        array[...] = 77
    except Exception:  # noqa: BLE001 - each framework raises its own type of error
        return False
    return True


def require_equal(backend: Backend, results: Any, wanted: Host) -> None:
    """Fails unless there is a result for each rank, in order, on its device, equal to the bit."""
    __tracebackhide__ = True
    assert len(results) == len(backend.devices)
    for device, result in zip(backend.devices, results, strict=True):
        require_form(backend, result, wanted, device.placement)
        require_bits(wanted, backend.get(result), f"rank {device.rank}")


def require_form(backend: Backend, result: Any, wanted: Host, placement: str) -> None:
    """Fails unless an array has the form of a host array, on that device."""
    __tracebackhide__ = True
    found, expected = tuple(backend.spec(result)), (wanted.shape, wanted.dtype.name, placement)
    assert found == expected, f"expected {expected}, found {found}"


def require_bits(wanted: Host, found: Host, where: str) -> None:
    """Fails with the first element in which two host arrays differ; where: what was found, in words."""
    __tracebackhide__ = True
    different = first_difference(wanted, found)
    if different is not None:
        raise AssertionError(f"{where}: {different}")
