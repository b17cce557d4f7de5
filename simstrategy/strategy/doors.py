"""What users hand in, looked at before anything runs.  It refuses, and changes nothing but lists into arrays."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from simstrategy.device import default_dtype
from simstrategy.errors import InvalidArgument, InvalidType

__all__ = ["host_array", "require_call", "require_settings"]


def require_settings(checks: object, lanes: object, seed: object) -> None:
    """Raises InvalidArgument for a setting of a strategy that is none."""
    if checks not in (True, False, "strict"):
        raise InvalidArgument(f'checks is True, False or "strict", not {checks!r}.')
    if lanes not in ("auto", "greenlet", "thread"):
        raise InvalidArgument(f'lanes is "auto", "greenlet" or "thread", not {lanes!r}.')
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InvalidArgument(f"seed is an int, not {seed!r}.")


def require_call(fn: object, args: object, kwargs: object) -> None:
    """Raises InvalidArgument or InvalidType for what `run` cannot call so."""
    if not isinstance(args, (list, tuple)):
        raise InvalidArgument(f"positional args must be a list or tuple, got {type(args).__name__}: {args!r}.")
    if not callable(fn):
        raise InvalidType(f"run takes a function to call on each replica, got {fn!r}.")
    if not isinstance(kwargs, (NoneType, Mapping)):
        raise InvalidType(f"run takes a mapping as kwargs, got {kwargs!r}. Write run(fn, kwargs={{'x': value}}).")


def host_array(value: Any, dtype: str | None) -> np.ndarray[Any, Any]:
    """Makes a host array of Python numbers and lists.  Raises InvalidArgument and InvalidType for what is none."""
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
