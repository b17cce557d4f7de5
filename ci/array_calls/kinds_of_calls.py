"""What the table of calls is made of: dtypes, ordinary and special numbers, forms of arguments."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
DTYPES = ("bool", *INTEGERS, *FLOATS, *COMPLEX)

Host = np.ndarray[Any, Any]


class Call(NamedTuple):
    """One call.  Host arrays among the arguments become the backend's; `Given` ones stay as they are."""

    name: str
    form: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    @property
    def text(self) -> str:
        return f"{self.name} {self.form}"

    @property
    def dtypes(self) -> set[str]:
        """The dtypes of its arrays."""
        found = [*self.arguments, *self.options.values()]
        found += [part for one in found if isinstance(one, list) for part in one]
        arrays = {one.host.dtype.name if isinstance(one, Given) else one.dtype.name for one in found if is_array(one)}
        names = {one for one in (*self.arguments, self.options.get("dtype")) if isinstance(one, str)}
        return arrays | (names & set(DTYPES))


class Given(NamedTuple):
    """A host array that is passed to the function as it is."""

    host: Host


def is_array(value: Any) -> bool:
    return isinstance(value, (np.ndarray, Given))


def dtype_of(name: str) -> np.dtype[Any]:
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(ml_dtypes.bfloat16)


def ordinary(dtype: str, *, shift: int = 0) -> Host:
    """Returns small numbers [2, 3] that every function is defined for, or nearly every."""
    numbers = np.array([[1, 2, 3], [4, 2, 1]]) + shift
    if dtype == "bool":
        return numbers % 2 == 0
    plain = numbers / 8 if dtype in FLOATS else numbers
    return (plain + 0.5j * numbers[::-1] if dtype in COMPLEX else plain).astype(dtype_of(dtype))


def special(dtype: str) -> Host:
    """Returns the ends of the range, signed zeros, infinities and NaN [n]."""
    kind = dtype_of(dtype)
    if dtype == "bool":
        return np.array([True, False])
    if dtype in INTEGERS:
        ends = np.iinfo(kind)
        return np.array([ends.min, ends.max, 0, 1, ends.max // 2], kind)
    if dtype in FLOATS:
        largest = 3.0e38 if dtype == "bfloat16" else float(np.finfo(kind).max)
        return np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.5, np.inf, -np.inf, np.nan, largest], kind)
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]
    return np.array([complex(re, im) for re in parts for im in parts], kind)


def forms(dtype: str) -> Iterator[tuple[str, Any]]:
    """Returns what is taken for an array."""
    array = ordinary(dtype)
    yield "no axes", np.asarray(array[0, 0])
    yield "empty", array[:0]
    yield "transposed", array.T
    yield "host array", Given(array)
    yield "list", array.tolist()
    yield "the number 0.5", 0.5
    yield "the number 2", 2
    yield "the number True", True


def holds(dtype: str, number: Any) -> bool:
    """Returns whether a dtype has a number, but for rounding: what becomes of others is not the namespace's rule."""
    kind = dtype_of(dtype).kind
    if isinstance(number, complex):
        return kind == "c"
    if isinstance(number, float):
        return kind in "fcV" and not (abs(number) > 1e38 and dtype != "float64")
    return kind in "fcV" or (kind in "iu" and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max) or number in (0, 1)
