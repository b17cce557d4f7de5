"""Checks of what users pass, before anything runs.  Nothing is converted here: see `simstrategy.device.host_data`."""

import operator
from collections.abc import Callable, Mapping, Sequence
from types import AsyncGeneratorType, CoroutineType, GeneratorType, NoneType
from typing import Any, Final, NoReturn, SupportsIndex

import numpy as np

from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr
from simstrategy.trace import Site, describe_site
from simstrategy.values import DistributedValues

__all__ = [
    "UNFINISHED",
    "axes_in",
    "axis_in",
    "get_next_of",
    "is_host_zero",
    "refuse_unfinished",
    "require_call",
    "require_components",
    "require_getter",
    "require_numbers",
    "require_settings",
    "text_in",
]

UNFINISHED: Final[dict[type, str]] = {
    GeneratorType: "a generator",
    CoroutineType: "a coroutine",
    AsyncGeneratorType: "an asynchronous generator",
}
"""What a function returns whose body has not run, by the type of its result."""


def require_settings(checks: object, executor: object, seed: object, wait_limit_s: object, isolate: object) -> None:
    """Raises InvalidArgument for an impossible setting of a strategy."""
    if not isinstance(checks, bool) and not (isinstance(checks, str) and checks in ("paths", "strict")):
        raise InvalidArgument(
            f'checks is True, False, "paths" or "strict", not {short_repr(checks)}. Pass one of these.'
        )
    if not isinstance(executor, str) or executor not in ("auto", "greenlet", "thread"):
        raise InvalidArgument(
            f'executor is "auto", "greenlet" or "thread", not {short_repr(executor)}. Pass one of these.'
        )
    if not isinstance(seed, int) or isinstance(seed, bool):
        raise InvalidArgument(f"seed is an int, not {short_repr(seed)}.")
    number = isinstance(wait_limit_s, (int, float)) and not isinstance(wait_limit_s, bool)
    if wait_limit_s is not None and not (number and wait_limit_s > 0):  # type: ignore[operator]  # a number
        raise InvalidArgument(
            f"wait_limit_s is a number of seconds above 0, or None, not {short_repr(wait_limit_s)}. Pass one."
        )
    if not isinstance(isolate, bool):
        raise InvalidArgument(f"isolate is True or False, not {short_repr(isolate)}. Pass one of these.")


def require_call(fn: object, args: object, kwargs: object) -> None:
    """Raises InvalidArgument or InvalidType for what `run` cannot call so."""
    if not isinstance(args, (list, tuple)):
        raise InvalidArgument(
            f"positional args must be a list or tuple, got {type(args).__name__}: {short_repr(args)}. "
            f"Write run(fn, args=(value,))."
        )
    if not callable(fn):
        raise InvalidType(
            f"run takes a function to call on each replica, got {short_repr(fn)}. Pass the function itself."
        )
    if not isinstance(kwargs, (NoneType, Mapping)):
        raise InvalidType(
            f"run takes a mapping as kwargs, got {short_repr(kwargs)}. Write run(fn, kwargs={{'x': value}})."
        )
    if kwargs is not None and not all(isinstance(key, str) for key in kwargs):
        raise InvalidType(
            f"run takes a mapping of names as kwargs, got the keys {short_repr(list(kwargs))}. Write run(fn, "
            f"kwargs={{'x': value}})."
        )


def refuse_unfinished(results: Sequence[object], call: str) -> NoReturn:
    """Raises InvalidType: a function was a generator or asynchronous, so it has returned, and its body has not run.

    Not found by looking at the function, which may be wrapped in any other. results: the first is of `UNFINISHED`.
    """
    kind = UNFINISHED[type(results[0])]
    for one in results:
        if isinstance(one, CoroutineType):
            one.close()  # else Python warns that it was never awaited
    raise InvalidType(
        f"{call} takes a function that runs to its end, and this one returned {kind}: its body has not run, and would "
        f"run outside of its replica. Pass a plain function, without yield and async, that returns its result."
    )


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
        raise InvalidArgument(f"{call} takes an int as axis, got {short_repr(axis)}. Pass one int.")
    if not -len(shape) <= number < len(shape):
        raise InvalidArgument(
            f"Invalid reduction dimension {axis} for input with {len(shape)} dimensions: {call} got shape "
            f"{list(shape)}. Use an axis from {-len(shape)} to {len(shape) - 1}."
            if shape
            else f"Invalid reduction dimension {axis} for input with 0 dimensions: {call} got a scalar, which has "
            f"no axis. Give it a dimension{', or use axis=None' if call == 'reduce' else ''}."
        )
    return number % len(shape)


def text_in(name: object, call: str) -> str:
    """Returns a name.  Raises InvalidType for anything but a text."""
    if not isinstance(name, str):
        what = "a label, a text that names what is drawn" if call == "seed" else "a text as name, equal on all replicas"
        raise InvalidType(f"{call} takes {what}, got {short_repr(name)}. Pass a text.")
    return name


def axes_in(axis: int | tuple[int, ...], shape: tuple[int, ...], call: str) -> tuple[int, ...]:
    """Returns the axes counted from the front, each once.  Raises InvalidArgument."""
    axes = tuple(axis_in(one, shape, call) for one in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise InvalidArgument(
            f"{call} got the axes {axis} of shape {list(shape)}: each may be named once. Name each axis once."
        )
    return axes


def get_next_of(iterator: Any) -> Callable[[], Any]:
    """Returns the method of an input iterator.  Raises InvalidType for what has none."""
    try:
        get_next: Callable[[], Any] = iterator.get_next
    except AttributeError as error:
        raise InvalidType(
            f"experimental_run takes an iterator with get_next(), got {short_repr(iterator)}. Make it with "
            f"strategy.make_dataset_iterator(dataset)."
        ) from error
    return get_next


def require_getter(name: object, getter: object) -> None:
    """Raises InvalidType for what `require_equal_after_run` does not take."""
    if not isinstance(name, str) or not callable(getter):
        raise InvalidType(
            f"require_equal_after_run takes a name and a function without arguments that returns a nest, got "
            f"{short_repr(name)} and {short_repr(getter)}. Write require_equal_after_run('model', lambda: state)."
        )
