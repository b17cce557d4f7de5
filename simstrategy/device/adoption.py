"""Host data among the arguments of an array function, as host arrays: lists, scalars of NumPy, and numbers alone.

A number beside an array takes the array's dtype, so it stays a number.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from simstrategy.device.host_data import host_array, is_python_data
from simstrategy.device.settings import signature_of

__all__ = ["JOINING", "TOGETHER", "adopted", "computed_together"]

TOGETHER: Final = frozenset((
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "maximum", "minimum", "atan2",
    "copysign", "hypot", "logaddexp", "nextafter", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor",
    "bitwise_left_shift", "bitwise_right_shift", "matmul", "vecdot", "tensordot", "searchsorted",
))  # fmt: skip
"""Functions whose first two arguments have one dtype."""
JOINING: Final = ("concat", "stack")
"""Functions of one list of arrays."""
_NUMBERS: Final = (bool, int, float, complex)


def computed_together(name: str) -> tuple[int, int]:
    """Returns the first place of the arguments that have one dtype in a function, and the place behind the last."""
    return (1, 3) if name == "where" else (0, 2) if name in TOGETHER else (0, 1)


def adopted(
    name: str, arguments: Sequence[Any], options: dict[str, Any], form: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments of a call of `xp.name`, by place and by name, with host arrays [...] for host data.

    form: returns the shape and dtype of an array, of the backend or of the host, and None for any other value. Raises
    InvalidType for what is no data, InvalidArgument for rows of unequal lengths.
    """
    if name == "asarray":
        return tuple(arguments), options  # it takes host data itself
    if name in JOINING and arguments and isinstance(arguments[0], (list, tuple)):
        return (_all_adopted(arguments[0], form), *arguments[1:]), options
    by_place, by_name = _array_parameters(name)
    found = list(arguments)
    first, last = computed_together(name)
    if by_place[0]:
        found[first:last] = _all_adopted(arguments[first:last], form)
    for place, value in enumerate(found):
        if by_place[min(place, len(by_place) - 1)]:
            found[place] = _host(value)
    return tuple(found), {key: _host(value) if key in by_name else value for key, value in options.items()}


def _all_adopted(values: Sequence[Any], form: Any) -> list[Any]:
    """Returns values that have one dtype, numbers among them only where an array is beside them."""
    found = [_host(value) for value in values]
    if any(form(value) is not None for value in found):
        return found
    return [host_array(value) if isinstance(value, _NUMBERS) else value for value in found]


def _host(value: Any) -> Any:
    """Returns a host array for a list or a scalar of NumPy, and anything else as it is."""
    if isinstance(value, np.generic) or (is_python_data(value) and not isinstance(value, _NUMBERS)):
        return host_array(value)
    return value


@lru_cache(maxsize=256)
def _array_parameters(name: str) -> tuple[tuple[bool, ...], frozenset[str]]:
    """Returns which places of a function take arrays, the last one for all behind it, and which names."""
    parameters = list(signature_of(name).parameters.values())
    takes = {one.name: "Array" in str(one.annotation) and one.name != "fill_value" for one in parameters}
    placed = [takes[one.name] for one in parameters if one.kind is not one.KEYWORD_ONLY]
    return tuple(placed) or (False,), frozenset(key for key, is_array in takes.items() if is_array)
