"""Runs a program, keeps as host data everything in which two backends have to agree, and describes differences.

Values are compared to the bit, dtypes, containers and errors to the letter. No clause is named here.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

import simstrategy as ss
from simstrategy_conformance.oracle import UNSPECIFIED, Each

__all__ = ["Observed", "difference", "first_difference", "host", "observe", "same_bits"]

Host = np.ndarray[Any, Any]
_BLOCK_BYTES: Final = 65_536
"""So much of arrays is copied at once to be compared: a whole large array would be in new memory."""


class Observed(NamedTuple):
    """error: class name, message and notes. warnings: the texts of simstrategy's own. events: of the trace."""

    result: Any
    error: tuple[str, str, tuple[str, ...]] | None
    warnings: tuple[str, ...]
    events: tuple[ss.trace.Event, ...]


def observe(
    function: Callable[[Any], Any], strategy: Any, backend: ss.device.Backend, trace: ss.trace.Trace
) -> Observed:
    """Runs `function(strategy)`; an exception is an outcome too."""
    result, error = None, None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = host(function(strategy), backend)
        except Exception as raised:  # noqa: BLE001 - the error that ends a program is compared
            error = (type(raised).__name__, str(raised), tuple(vars(raised).get("__notes__", ())))
    ours = tuple(str(one.message) for one in caught if isinstance(one.message, ss.errors.SimStrategyWarning))
    return Observed(result, error, ours, tuple(trace.events()))


def host(value: Any, backend: ss.device.Backend) -> Any:
    """Returns a nest with host arrays in place of the backend's, and `Each` in place of distributed values."""
    if isinstance(value, backend.array_types):
        return backend.get(value)
    if isinstance(value, (ss.PerReplica, ss.Mirrored)):
        return Each(tuple(host(one, backend) for one in value.values))
    if isinstance(value, dict):
        return {key: host(item, backend) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(host(item, backend) for item in value)
    return np.array(value) if isinstance(value, (np.ndarray, np.generic)) else value


def same_bits(one: Host, other: Host) -> bool:
    """Returns whether two arrays are equal to the bit, except for the sign and payload of NaNs."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if _same_bytes(one, other):
        return True
    if one.dtype.kind == "c":
        return same_bits(one.real, other.real) and same_bits(one.imag, other.imag)
    if one.dtype.kind in "fV":  # bfloat16 is V
        nans = _nans(one)
        same: bool = np.array_equal(nans, _nans(other)) and one[~nans].tobytes() == other[~nans].tobytes()
        return same
    return False


def _nans(array: Host) -> Host:
    """Returns for each element whether it is NaN, also a signalling one."""
    with np.errstate(invalid="ignore"):
        return np.asarray(array != array)


def _same_bytes(one: Host, other: Host) -> bool:
    if one.nbytes <= _BLOCK_BYTES:
        return one.tobytes() == other.tobytes()
    flat, others = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (one, other))
    blocks = (slice(start, start + _BLOCK_BYTES) for start in range(0, flat.size, _BLOCK_BYTES))
    return all(flat[block].tobytes() == others[block].tobytes() for block in blocks)


def first_difference(wanted: Host, found: Host) -> str | None:
    """Describes the first element [...] in which two arrays differ, as `same_bits` has it; None for equal ones."""
    if same_bits(wanted, found):
        return None
    if (wanted.dtype, wanted.shape) != (found.dtype, found.shape):
        forms = [f"{one.dtype.name}{list(one.shape)}" for one in (wanted, found)]
        return f"expected {forms[0]}, found {forms[1]}"
    flat, other = wanted.reshape(-1), found.reshape(-1)
    unequal = np.flatnonzero(_bits_differ(flat, other))
    index = [int(one) for one in np.unravel_index(unequal[0], wanted.shape)]
    return (
        f"element {index}: expected {flat[unequal[0]]}, found {other[unequal[0]]}; {len(unequal)} of {flat.size} differ"
    )


def _bits_differ(one: Host, other: Host) -> Host:
    """Returns for each element [n] of two arrays of one form whether it differs, as `same_bits` has it."""
    if one.dtype.kind == "c":
        return _bits_differ(one.real, other.real) | _bits_differ(one.imag, other.imag)
    rows = [np.ascontiguousarray(array).view(np.uint8).reshape(array.size, -1) for array in (one, other)]
    differ = np.asarray((rows[0] != rows[1]).any(axis=1))
    return differ & ~(_nans(one) & _nans(other)) if one.dtype.kind in "fV" else differ


def difference(expected: Any, found: Any, path: str = "result") -> str | None:  # noqa: PLR0911 - one for each kind
    """Returns the first difference between two host nests in words, or None."""
    if isinstance(expected, str) and expected == UNSPECIFIED:
        return None
    if type(expected) is not type(found):
        return f"{path}: expected {_kind(expected)}, found {_kind(found)}"
    if isinstance(expected, np.ndarray):
        return None if same_bits(expected, found) else f"{path}: expected {_text(expected)}, found {_text(found)}"
    if isinstance(expected, dict):
        if list(expected) != list(found):
            return f"{path}: expected keys {list(expected)}, found {list(found)}"
        pairs = [(expected[key], found[key], f"{path}[{key!r}]") for key in expected]
    elif isinstance(expected, Each):
        pairs = _pairs(expected.values, found.values, path, " of replica {}")
        if len(expected.values) != len(found.values):
            return f"{path}: expected {len(expected.values)} components, found {len(found.values)}"
    elif isinstance(expected, (list, tuple)):
        if len(expected) != len(found):
            return f"{path}: expected {len(expected)} items, found {len(found)}"
        pairs = _pairs(expected, found, path, "[{}]")
    else:
        return None if expected == found else f"{path}: expected {expected!r}, found {found!r}"
    return next((found for one in pairs if (found := difference(*one)) is not None), None)


def _pairs(expected: Any, found: Any, path: str, form: str) -> list[tuple[Any, Any, str]]:
    both = zip(expected, found, strict=False)
    return [(one, other, path + form.format(number)) for number, (one, other) in enumerate(both)]


def _kind(value: Any) -> str:
    if isinstance(value, Each):
        return f"a value of {len(value.values)} components ({', '.join(_kind(one) for one in value.values[:3])})"
    return _text(value) if isinstance(value, np.ndarray) else f"{type(value).__name__} {value!r}"


def _text(array: Host) -> str:
    return f"{array.dtype.name}{list(array.shape)} {array.tolist()}"
