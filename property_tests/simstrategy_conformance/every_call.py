"""The calls that array functions are tried with, whatever is drawn: all settings combined, and unusual numbers."""

import functools
import itertools
from typing import Any

import numpy as np

from simstrategy_conformance.array_settings import array_setting_calls
from simstrategy_conformance.calls import Case
from simstrategy_conformance.elementwise_calls import elementwise_calls
from simstrategy_conformance.formed_calls import formed_calls
from simstrategy_conformance.set_calls import set_calls

__all__ = ["arrays_in", "every_call"]


@functools.cache
def every_call(dtypes: tuple[str, ...]) -> dict[str, list[Case]]:
    """Returns the calls of each function, with arrays of some dtypes."""
    found: dict[str, list[Case]] = {}
    with np.errstate(all="ignore"):
        kinds = (set_calls, formed_calls, elementwise_calls, array_setting_calls)
        for name, case in itertools.chain.from_iterable(calls(dtypes) for calls in kinds):
            found.setdefault(name, []).append(case)
    return found


def arrays_in(value: Any, types: tuple[type, ...]) -> list[Any]:
    """Returns the arrays among arguments, settings or results: those of some types, also in lists, tuples and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [array for one in value for array in arrays_in(one, types)]
    return [value] if isinstance(value, types) else []
