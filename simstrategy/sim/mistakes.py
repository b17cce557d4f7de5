"""The mistakes in calls of the simulator's array functions: NumPy's errors, wrong forms, numbers without an order.

One class and one text for each stand in `simstrategy.device.refusals`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from simstrategy.device.refusals import refusal
from simstrategy.device.settings import settled, signature_of
from simstrategy.errors import SimStrategyError
from simstrategy.sim.mixed import name_of

__all__ = [
    "FOREIGN",
    "MISSING",
    "SIZED",
    "called_again",
    "form",
    "misformed",
    "placed",
    "refused",
    "require_comparable",
]

R = TypeVar("R")

MISSING: Final = object()
"""An argument that was not given."""
FOREIGN: Final = (TypeError, ValueError, IndexError, OverflowError, ZeroDivisionError, AttributeError)
"""NumPy's errors that stand for a mistake in the arguments."""
SIZED: Final = (*FOREIGN, MemoryError)
"""NumPy's errors that do so where the arguments alone decide how large a result is."""


def form(value: Any) -> tuple[tuple[int, ...], str] | None:
    """Returns the shape and dtype of an array, None for any other value."""
    return (value.shape, name_of(value)) if isinstance(value, np.ndarray) else None


def refused(
    call: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any], error: Exception
) -> SimStrategyError:
    """Returns our error for one of NumPy's.  call: the method of the namespace."""
    return refusal(call.__name__, arguments, options, error, form)


def misformed(call: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> SimStrategyError:
    """Returns the error of a call with too few or too many arguments: Python's own names no function of `xp`."""
    given = [one for one in arguments if one is not MISSING]
    return refused(call, given, options, TypeError("other arguments"))


def placed(call: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the arguments of a call by place, of which some are given by name.  Raises our error for others."""
    try:
        return signature_of(call.__name__).bind(*arguments, **options).args
    except TypeError as error:
        raise refused(call, arguments, options, error) from error


def called_again(
    call: Callable[..., R], namespace: Any, arguments: Sequence[Any], options: dict[str, Any], error: Exception
) -> R:
    """Calls a function that NumPy has refused, with settings as Python has them.  Raises our error if they are so."""
    try:
        plain = settled(call.__name__, arguments, options, form)
    except (TypeError, ValueError):
        plain = None
    if plain is not None:
        return call(namespace, *plain[0], **plain[1])
    wrong = refused(call, arguments, options, error)
    if wrong is error:
        raise error
    raise wrong from error


def require_comparable(call: Callable[..., Any], x1: Any, x2: Any) -> None:
    """Raises InvalidType for an order of complex numbers, InvalidArgument for an int beyond the dtype beside it."""
    for one, other in ((x1, x2), (x2, x1)):
        kind = one.dtype.kind if isinstance(one, (np.ndarray, np.generic)) else "c" if type(one) is complex else "-"
        if kind == "c" and call.__name__ not in ("equal", "not_equal"):
            raise refused(call, (x1, x2), {}, TypeError("complex numbers have no order"))
        if kind in "iu" and type(other) is int and not np.iinfo(one.dtype).min <= other <= np.iinfo(one.dtype).max:
            raise refused(call, (x1, x2), {}, OverflowError(str(other)))
