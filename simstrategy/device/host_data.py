"""Numbers of Python, and lists of them, as NumPy arrays: their dtypes, and what is refused.

The one place of these rules, for datasets, variables, collectives and `xp`. Arrays keep their dtype: none is cast here.
"""

import sys
from array import array as typed_buffer
from collections.abc import Iterator, Sequence
from typing import Any, Final, NoReturn, TypeGuard

import numpy as np

from simstrategy.device.namespace import default_dtype
from simstrategy.device.promotion import common_dtype
from simstrategy.device.terms import HostData
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = ["filling", "host_array", "is_python_data", "numeric_array", "python_array", "refuse_masked"]

Host = np.ndarray[Any, Any]
_NUMBERS: Final = (bool, int, float, complex)
_USUAL: Final = frozenset((bool, int, float, complex, list, tuple, range))
_NO_LISTS: Final = (str, bytes, bytearray, memoryview, typed_buffer)
_KINDS: Final = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex number"}
_BECOMES: Final = {"i": "iufc", "u": "iufc", "f": "fc", "c": "c"}
"""What the numbers of a kind become without a loss of their parts."""
_BOOL_BECOMES: Final = frozenset(("bool", "int32", "int64", "uint64", "float16", "float32", "float64", "complex128"))
"""What Python's bools become. Source: TensorFlow 2.21.0, as recorded."""
_INT32_MIN, _INT32_MAX = -(2**31), 2**31 - 1
_INT64_MAX: Final = 2**63 - 1
_smallest: Final = np.minimum.reduce
_largest: Final = np.maximum.reduce
_LARGE: Final = 2.0**63
_FLOAT32_MAX: Final = float(np.finfo(np.float32).max)


def host_array(value: Any, dtype: str | None = None, *, where: str = "This call") -> Host:
    """Returns host data as an array […]: numbers and lists of Python in `dtype`, or in their default dtype.

    dtype: of Python's numbers, by name; arrays, those of other libraries too, keep their own and are not copied.
    where: what takes the data, for error messages. Raises InvalidType for what is no number, for a masked array and
    for numbers of another kind than `dtype`, such as 1.5 for an integer; InvalidArgument for a number that the dtype
    does not hold, and for rows of unequal lengths. Clauses: V-7. Source: TensorFlow 2.21.0, as recorded.
    """
    kind = type(value)
    # The usual arguments, without the rest: an array of a number.
    if kind is float and dtype in (None, "float32") and -_FLOAT32_MAX <= value <= _FLOAT32_MAX:
        return np.array(value, np.float32)
    if kind is int and dtype in (None, "int32") and _INT32_MIN <= value <= _INT32_MAX:
        return np.array(value, np.int32)
    array = _plain(value, where)
    if is_python_data(value):
        return python_array(value, array, dtype, where)
    if not _is_numeric(array):
        _refuse_kind(value, where)
    return array


def numeric_array(value: HostData, *, where: str = "This call") -> Host:
    """Returns host data as NumPy reads it, to be cast on purpose.  Raises for what is no number, as `host_array`."""
    array = _plain(value, where)
    if not _is_numeric(array):
        _refuse_kind(value, where)
    return array


def filling(value: HostData, dtype: "np.dtype[Any]") -> Host:
    """Returns a number as an array [] of a dtype, to fill an array with; a fraction is cut off for an integer.

    Raises OverflowError, ValueError or TypeError for a number that the dtype does not hold: beyond its range, NaN or
    infinite for an integer, complex for a real one.
    """
    found = np.empty((), dtype)
    found.fill(value)
    return found


def _plain(value: HostData, where: str) -> Host:
    refuse_masked(value, where)
    try:
        return np.asarray(value)
    except ValueError as error:
        if any(isinstance(one, (str, bytes)) for one in _leaves(value)):
            _refuse_kind(value, where)
        text = f"{where} got {short_repr(value)}, which is no array: {error}. Give rows of equal length."
        raise InvalidArgument(text) from error


def is_python_data(value: HostData) -> bool:
    """Returns whether a value is a number of Python, or a list, tuple or range, whose dtype is not chosen yet."""
    if type(value) in _USUAL:
        return True
    if isinstance(value, (np.ndarray, np.generic)):
        return False
    return isinstance(value, _NUMBERS) or _is_sequence(value)


def can_change(array: Host) -> bool:
    """Returns whether an array […], or one whose memory it shares, can be written to, as far as NumPy states it."""
    one: Any = array
    while isinstance(one, np.ndarray):
        if one.flags.writeable:
            return True
        one = one.base
    return False


def refuse_masked(value: HostData | np.generic, where: str) -> None:
    """Raises InvalidType for a masked array: its mask would be lost."""
    # Not imported: where nothing else has imported the module, there is no masked array.
    module = sys.modules.get("numpy.ma")
    masked = None if module is None else vars(module).get("MaskedArray")
    if masked is not None and isinstance(value, masked):
        raise InvalidType(
            f"{where} got a masked array, and its mask would be lost. Replace the masked numbers first: x.filled(0)."
        )


def python_array(value: HostData, array: Host, dtype: str | None, where: str) -> Host:
    """Returns what numbers or lists of Python become; array: NumPy's array […] of them.  Raises as `host_array`.

    Without a dtype, a list that begins with NumPy's floats gets their dtype, and a list of other arrays keeps theirs;
    of a list that begins with a backend's array the dtype is that of its arrays beside its numbers. Clauses: B-21
    """
    first = _first_leaf(value)
    refuse_masked(first, where)
    if array.dtype.kind == "O":
        array = _with_large_ints(value, array, first, dtype, where)
    if not _is_numeric(array):
        _refuse_kind(value, where)
    if dtype is not None:
        return array.astype(_named(dtype)) if array.size == 0 else _in_dtype(value, array, dtype, where)
    if not isinstance(first, (*_NUMBERS, np.generic)) and type(first) is not np.ndarray and array.size:
        return _in_common_dtype(value, array, where)
    if isinstance(first, (np.ndarray, np.inexact)) and first.dtype.kind == array.dtype.kind == "f":
        return array.astype(first.dtype)
    if array.size and not isinstance(first, (*_NUMBERS, np.integer, np.bool_)):
        return array
    return _in_default_dtype(value, array, where)


def _first_leaf(value: HostData) -> HostData:
    first: Any = value
    while type(first) not in _NUMBERS and (type(first) is list or _is_sequence(first)) and len(first):
        first = first[0]
    leaf: HostData = first
    return leaf


def _is_sequence(value: HostData) -> TypeGuard[Sequence[HostData]]:
    return isinstance(value, Sequence) and not isinstance(value, _NO_LISTS)


def _is_numeric(array: Host) -> bool:
    return array.dtype.kind in _KINDS or array.dtype.name == "bfloat16"


def _with_large_ints(value: HostData, array: Host, first: HostData, dtype: str | None, where: str) -> Host:
    """Returns numbers of which some ints have more than 64 bits, as float64, where they become floats."""
    leaves = array.reshape(-1).tolist()
    if not all(isinstance(one, (*_NUMBERS, np.number)) for one in leaves):
        _refuse_kind(value, where)
    becomes_float = isinstance(first, float) if dtype is None else _kind_of(dtype) == "f"
    try:
        return np.array(value, np.float64 if becomes_float else np.int64)
    except (OverflowError, TypeError):
        _refuse_size(value, dtype or "int64", where)


def _in_default_dtype(value: HostData, array: Host, where: str) -> Host:
    kind, usual = array.dtype.kind, default_dtype(array.dtype.kind)
    if kind in "iu" and array.size:
        high = _largest(array, axis=None)
        if high > _INT64_MAX:
            _refuse_size(value, "int64", where)
        fits = high <= _INT32_MAX and _smallest(array, axis=None) >= _INT32_MIN
        return array.astype(np.int32 if fits else np.int64)
    if kind in "fc" and array.size:
        sizes = array if kind == "f" else np.abs(array)
        # NaN is neither.
        if not (_largest(sizes, axis=None) < _LARGE and _smallest(sizes, axis=None) > -_LARGE):
            _check_large(value, array, str(usual), where)
    return array.astype(usual)


def _in_common_dtype(value: HostData, array: Host, where: str) -> Host:
    """Returns numbers in the dtype that the arrays among them have beside Python's numbers."""
    dtypes: set[str] = set()
    numbers: set[type] = set()
    for one in _leaves(value):
        if type(one) in _NUMBERS:
            numbers.add(type(one))
        else:
            dtypes.add(np.asarray(one).dtype.name)
    wanted = common_dtype(tuple(sorted(dtypes)), tuple(numbers))
    if array.dtype.name == wanted:
        return array
    with np.errstate(over="ignore", invalid="ignore"):
        found = array.astype(_named(wanted))
    if _kind_of(wanted) in "iu" and not (found == array).all():
        _refuse_size(value, wanted, where)
    if _kind_of(wanted) in "fc" and (np.isinf(found) & ~np.isinf(array)).any():
        _refuse_size(value, wanted, where)
    return found


def _leaves(value: HostData) -> Iterator[HostData]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one)
    else:
        yield value


def _check_large(value: HostData, array: Host, usual: str, where: str) -> None:
    """Raises for floats that become infinite, and for ints alone that NumPy rounds to floats: no dtype holds them.

    array: holds a number of 2**63 and more, or NaN.
    """
    with np.errstate(over="ignore"):
        narrow = array.astype(usual)
    if (np.isinf(narrow) & ~np.isinf(array)).any():
        _refuse_size(value, usual, where)
    if array.dtype.kind == "f":
        leaves = np.array(value, object).reshape(-1).tolist()
        if all(isinstance(one, (int, np.integer)) for one in leaves):
            _refuse_size(value, "int64", where)


def _in_dtype(value: HostData, array: Host, dtype: str, where: str) -> Host:
    kind, wanted = array.dtype.kind, _kind_of(dtype)
    fits = dtype in _BOOL_BECOMES if kind == "b" else wanted in _BECOMES.get(kind, "fc")
    if not fits:
        _refuse_conversion(value, kind, dtype, where)
    if kind in "iu" and wanted in "iu":
        limits = np.iinfo(dtype)
        if int(array.min()) < limits.min or int(array.max()) > limits.max:
            _refuse_size(value, dtype, where)
    with np.errstate(over="ignore"):
        return array.astype(_named(dtype))


def _kind_of(dtype: str) -> str:
    return "f" if dtype == "bfloat16" else np.dtype(dtype).kind


def _named(dtype: str) -> np.dtype[Any]:
    """Returns NumPy's dtype; for bfloat16 float32, unless its package is imported."""
    try:
        return np.dtype(dtype)
    except TypeError:
        return np.dtype(np.float32)


def _refuse_kind(value: HostData, where: str) -> NoReturn:
    raise InvalidType(
        f"{where} got a {type(value).__name__}: {short_repr(value)}. Expected an array, a number or a nest of them. "
        f"Convert it to a NumPy array of numbers first."
    )


def _refuse_conversion(value: HostData, kind: str, dtype: str, where: str) -> NoReturn:
    raise InvalidType(
        f"{where} got {short_repr(value)}, and no {_KINDS.get(kind, 'float')} becomes {dtype} in silence. Convert "
        f"it first, for example by xp.astype(x, {dtype!r})."
    )


def _refuse_size(value: HostData, dtype: str, where: str) -> NoReturn:
    if _kind_of(dtype) == "b":
        _refuse_conversion(value, "i", dtype, where)
    limits = np.finfo(dtype) if _kind_of(dtype) in "fc" else np.iinfo(dtype)
    raise InvalidArgument(
        f"{where} got {short_repr(value)}, and {dtype} holds numbers from {limits.min} to {limits.max}. Use a wider "
        f"dtype, as in np.array(x, 'float64'), or smaller numbers."
    )
