"""The text of a function, kept as long as all that it shows is the same: processes send it at the end of each run."""

import enum
import functools
import operator
from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any, Final, final

import numpy as np

from simstrategy.run.functions import function_key

__all__ = ["KeptText"]

_PLAIN: Final = frozenset({bool, int, float, complex, str, bytes, type(None)})
_OPENED: Final = (FunctionType, MethodType)
_MAY_CHANGE: Final = (
    *(int, float, complex, str, bytes),  # classes derived from them, whose texts may change
    *(tuple, list, set, frozenset, Mapping, functools.partial),
)
_NOT_SHOWN: Final = object()
"""Stands for an object that the text of a function does not show."""


@final
class KeptText:
    """The text of the last function, `str(function_key(function))`, and the codes and plain values that it shows."""

    __slots__ = ("_shown", "_text")

    def __init__(self) -> None:
        self._shown: list[Any] | None = None
        self._text = ""

    def of(self, function: Callable[..., Any]) -> str:
        """Returns the text of a function, as it is now."""
        shown = _shown_by(function)
        if shown is None or self._shown is None or not _are_same(shown, self._shown):
            self._text = str(function_key(function))
        self._shown = shown
        return self._text


def _are_same(some: list[Any], others: list[Any]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _shown_by(function: Callable[..., Any]) -> list[Any] | None:
    """Returns the code of a function and what it holds, and likewise of the functions in it.

    Objects that its text does not show are `_NOT_SHOWN`. None for a function that holds what may change while it stays
    the same object, such as a list, or that is no function or method: all that is read where its text is made.
    """
    found: list[Any] = []
    left: list[Any] = [function]
    for one in left:  # grows meanwhile
        if type(one) is MethodType:
            held: tuple[Any, ...] = (one.__func__, one.__self__)
        elif type(one) is FunctionType and not one.__dict__ and not one.__kwdefaults__:
            found.append(one.__code__)
            held = one.__defaults__ or ()
            try:
                held += tuple([cell.cell_contents for cell in one.__closure__ or ()])
            except ValueError:  # one is not bound yet
                return None
        else:
            return None
        for value in held:
            if type(value) in _PLAIN or isinstance(value, (enum.Enum, np.generic)):
                found.append(value)
            elif isinstance(value, _OPENED):
                if not any(value is other for other in left):
                    left.append(value)
                found.append(_NOT_SHOWN)
            elif isinstance(value, _MAY_CHANGE):
                return None
            else:
                found.append(_NOT_SHOWN)
    return found
