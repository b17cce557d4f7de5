"""Checks of what users pass, before anything runs; the only change is that numbers and lists become arrays."""

import operator
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, SupportsIndex

import numpy as np

from simstrategy.device import default_dtype
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.trace import Site, describe_site
from simstrategy.values import DistributedValues

__all__ = [
    "axes_in",
    "axis_in",
    "host_array",
    "is_host_zero",
    "require_call",
    "require_components",
    "require_numbers",
    "require_settings",
]


def require_settings(checks: object, executor: object, seed: object) -> None:
    """Raises InvalidArgument for an impossible setting of a strategy."""
    if not isinstance(checks, bool) and not (isinstance(checks, str) and checks == "strict"):
        raise InvalidArgument(f'checks is True, False or "strict", not {checks!r}. Pass one of these.')
    if not isinstance(executor, str) or executor not in ("auto", "greenlet", "thread"):
        raise InvalidArgument(f'executor is "auto", "greenlet" or "thread", not {executor!r}. Pass one of these.')
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InvalidArgument(f"seed is an int, not {seed!r}.")


def require_call(fn: object, args: object, kwargs: object) -> None:
    """Raises InvalidArgument or InvalidType for what `run` cannot call so."""
    if not isinstance(args, (list, tuple)):
        raise InvalidArgument(
            f"positional args must be a list or tuple, got {type(args).__name__}: {args!r}. "
            f"Write run(fn, args=(value,))."
        )
    if not callable(fn):
        raise InvalidType(f"run takes a function to call on each replica, got {fn!r}. Pass the function itself.")
    if not isinstance(kwargs, (NoneType, Mapping)):
        raise InvalidType(f"run takes a mapping as kwargs, got {kwargs!r}. Write run(fn, kwargs={{'x': value}}).")


def host_array(value: Any, dtype: str | None) -> np.ndarray[Any, Any]:
    """Makes a host array of Python numbers and lists.  Raises InvalidArgument and InvalidType for anything else."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InvalidArgument(f"{value!r} is no array: {error}. Give rows of equal length.") from error
    if array.dtype == object or array.dtype.kind not in "biufc":
        raise InvalidType(
            f"Expected an array, a number or a nest of them, got a {type(value).__name__}: {value!r}. "
            f"Convert it to a NumPy array of numbers first."
        )
    wanted = dtype or default_dtype(array.dtype.kind)
    return array if wanted in (None, "bfloat16") else array.astype(wanted)


def is_host_zero(value: object, array_types: tuple[type, ...]) -> bool:
    """Returns whether a value is host data of numbers that are all zero: their sum is zero however often they count.

    Python's and NumPy's numbers, complex ones too; bool is no number, and an array of a backend is no host data.
    """
    if isinstance(value, (*array_types, bool, np.bool_)):
        return False
    if isinstance(value, (np.ndarray, np.generic)):
        return value.dtype.kind in "iufc" and not value.any()
    return isinstance(value, (int, float, complex)) and value == 0


def require_components(value: DistributedValues, replicas: int, call: str, site: Site) -> tuple[Any, ...]:
    """Returns a value's components.  Raises InvalidArgument unless there is one for each local replica."""
    count = len(value.values)
    if count != replicas:
        found = f"{count} component{'' if count == 1 else 's'}"
        raise InvalidArgument(
            f"{call} at {describe_site(site)} got a {type(value).__name__} of {found}, and there are {replicas} "
            f"replicas here. Pass a value that this strategy made."
        )
    return value.values


def require_numbers(forms: Sequence[tuple[tuple[int, ...], str]], call: str) -> None:
    """Raises InvalidArgument for bool.  forms: shape and dtype of each array."""
    for _, dtype in forms:
        if dtype == "bool":
            raise InvalidArgument(f"{call} got bool, which has no sum. Cast it first: xp.astype(x, 'int32').")


def axis_in(axis: object, shape: tuple[int, ...], call: str) -> int:
    """Returns the axis counted from the front.  Raises InvalidArgument where the shape has no such axis."""
    try:
        number = None if isinstance(axis, bool) or not isinstance(axis, SupportsIndex) else operator.index(axis)
    except TypeError:  # an array of several numbers
        number = None
    if number is None:
        raise InvalidArgument(f"{call} takes an int as axis, got {axis!r}. Pass one int.")
    if not -len(shape) <= number < len(shape):
        raise InvalidArgument(
            f"Invalid reduction dimension {axis} for input with {len(shape)} dimensions: {call} got shape "
            f"{list(shape)}. Use an axis from {-len(shape)} to {len(shape) - 1}."
            if shape
            else f"Invalid reduction dimension {axis} for input with 0 dimensions: {call} got a scalar, which has "
            f"no axis. Give it a dimension{', or use axis=None' if call == 'reduce' else ''}."
        )
    return number % len(shape)


def axes_in(axis: int | tuple[int, ...], shape: tuple[int, ...], call: str) -> tuple[int, ...]:
    """Returns the axes counted from the front, each once.  Raises InvalidArgument."""
    axes = tuple(axis_in(one, shape, call) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise InvalidArgument(
            f"{call} got the axes {axis} of shape {list(shape)}: each may be named once. Name each axis once."
        )
    return axes
