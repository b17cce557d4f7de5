"""How a call on one rank's arrays is computed for all ranks at once: on arrays [ranks, ...] in place of [...].

A rule takes a call and which of its arrays are stacked, and returns a function of what the tape holds. Where NumPy
would compute other bits for all ranks together, and for rare functions, the call is made once for each rank.
The others are made once, with axes counted behind the axis of the ranks.
"""

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from simstrategy.sim.arrays import Host
from simstrategy.sim.stacked.binding import Bound, Derived, Slots, called, called_for_each, called_with
from simstrategy.sim.stacked.tape import Call, Recorded, recorded_in

__all__ = ["bound"]

Rule = Callable[[Call, Slots, int], Bound]
Setting = Any


def bound(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Returns what computes a call for all ranks.  stacked: the slots that have an array of each rank."""
    if not any(one.slot in stacked for one in recorded_in((call.arguments, call.settings))):
        return called(call.function, call.arguments, call.settings)
    if _has_lists_of_arrays(call):
        return called_for_each(call, stacked, ranks)
    return _RULES.get(call.rule, called_for_each)(call, stacked, ranks)


def _has_lists_of_arrays(call: Call) -> bool:
    """Whether arrays of the step are in a list that the function makes an array of: it would get other axes."""
    direct = sum(isinstance(one, Recorded) for one in (*call.arguments, *call.settings.values()))
    return call.rule not in _OF_LISTS and direct < len(recorded_in((call.arguments, call.settings)))


def _padded(one: Any, stacked: Slots, dimensions: int) -> Any:
    """Returns an argument as a function of the slots' values, with axes of size 1 behind that of the ranks.

    So that it broadcasts against arrays of `dimensions` of one rank.
    """
    if not isinstance(one, Recorded):
        return one
    slot, missing = one.slot, dimensions - one.example.ndim
    if slot not in stacked or missing <= 0:
        return one
    shape = (*(1,) * missing, *one.example.shape)
    return Derived(one, lambda value: value.reshape((len(value), *shape)))


def _elementwise(call: Call, stacked: Slots, ranks: int) -> Bound:
    dimensions = call.example.ndim
    arguments = tuple([_padded(one, stacked, dimensions) for one in call.arguments])
    settings = {name: _padded(one, stacked, dimensions) for name, one in call.settings.items()}
    return called_with(call.function, arguments, settings)


def _transcendental(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Takes values that lie in reverse order in memory apart: NumPy computes them one by one where they are alone."""
    whole, each = _elementwise(call, stacked, ranks), called_for_each(call, stacked, ranks)
    slots = [one.slot for one in recorded_in((call.arguments, call.settings))]

    def compute(values: list[Any]) -> Any:
        is_reversed = any(stride < 0 for slot in slots for stride in values[slot].strides)
        return (each if is_reversed else whole)(values)

    return compute


def _power(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Takes integers, and powers that are numbers, together: NumPy has quick ways for some numbers."""
    exact = call.example.dtype.kind in "iub" or not isinstance(call.arguments[1], (Recorded, np.ndarray))
    return (_transcendental if exact else called_for_each)(call, stacked, ranks)


def _behind(axis: int, dimensions: int) -> int:
    """Returns an axis of one rank's array of so many dimensions as one of the stacked array."""
    return axis % dimensions + 1


def _shifted(axis: Setting, dimensions: int) -> Setting:
    if isinstance(axis, (tuple, list)):
        return tuple([_behind(operator.index(one), dimensions) for one in axis])
    return _behind(operator.index(axis), dimensions)


def _reduction(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Reduces along axes of one array; None stands for all of them."""
    array, *others = call.arguments
    dimensions = array.example.ndim
    axis = call.settings.get("axis", others[0] if others else None)
    if len(others) > 1 or (axis is not None and not dimensions):  # NumPy takes some axes of an array without any
        return called_for_each(call, stacked, ranks)
    own = tuple(range(1, dimensions + 1)) if axis is None else _shifted(axis, dimensions)
    settings = {**call.settings, "axis": own}
    return called(call.function, (array,), settings)


def _along(default: int | None, *, new: int = 0) -> Rule:
    """Makes a rule for functions of one array along one axis.

    default: the axis where none is given; None for the flat array. new: how many axes the result has more, among which
    the axis is counted.
    """

    def rule(call: Call, stacked: Slots, ranks: int) -> Bound:
        array, *others = call.arguments
        axis = call.settings.get("axis", default)
        dimensions = array.example.ndim + (len(axis) if new and isinstance(axis, (tuple, list)) else new)
        if axis is None and dimensions == 1:
            axis = 0
        if axis is None or recorded_in((others, call.settings)) or _has_ends(call):
            return called_for_each(call, stacked, ranks)
        return called(call.function, call.arguments, {**call.settings, "axis": _shifted(axis, dimensions)})

    return rule


def _has_ends(call: Call) -> bool:
    """Whether `diff` gets what it puts before or behind the array."""
    return any(call.settings.get(name) is not None for name in ("prepend", "append"))


def _joining(*, new: int = 0) -> Rule:
    """Makes a rule for functions that join arrays along an axis."""

    def rule(call: Call, stacked: Slots, ranks: int) -> Bound:
        (arrays,) = call.arguments
        axis = call.settings.get("axis", 0)
        if isinstance(arrays, Recorded) or axis is None or not all(isinstance(one, Recorded) for one in arrays):
            return called_for_each(call, stacked, ranks)
        spread = [one if one.slot in stacked else Derived(one, partial(_repeated, ranks)) for one in arrays]
        settings = {**call.settings, "axis": _behind(axis, arrays[0].example.ndim + new)}
        return called_with(call.function, (spread,), settings)

    return rule


def _repeated(ranks: int, value: Host) -> Host:
    return np.broadcast_to(value, (ranks, *value.shape), subok=True)


def _permute(call: Call, stacked: Slots, ranks: int) -> Bound:
    array, *given = call.arguments
    axes = given[0] if given else call.settings["axes"]
    return called(call.function, (array, (0, *_shifted(tuple(axes), array.example.ndim or 1))), {})


def _reshape(call: Call, stacked: Slots, ranks: int) -> Bound:
    if "order" in call.settings:
        return called_for_each(call, stacked, ranks)
    return called(call.function, (call.arguments[0], (ranks, *call.example.shape)), {})


def _broadcast(call: Call, stacked: Slots, ranks: int) -> Bound:
    shape = call.example.shape
    return called_with(call.function, (_padded(call.arguments[0], stacked, len(shape)), (ranks, *shape)), {})


def _moveaxis(call: Call, stacked: Slots, ranks: int) -> Bound:
    array, *axes = call.arguments
    return called(call.function, (array, *[_shifted(one, array.example.ndim) for one in axes]), {})


def _squeeze(call: Call, stacked: Slots, ranks: int) -> Bound:
    array, *axes = call.arguments
    axis = axes[0] if axes else call.settings["axis"]
    return called(call.function, (array, _shifted(axis, array.example.ndim or 1)), {})


def _index(call: Call, stacked: Slots, ranks: int) -> Bound:
    array, key = call.arguments
    return called(call.function, (array, (slice(None), *key)), {})


def _take(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Takes from an array of all ranks at places that are the same on all, or from the rows of one that all share."""
    array, indices = call.arguments
    axis = call.settings["axis"]
    if not isinstance(array, Recorded):
        return called_for_each(call, stacked, ranks)
    dimensions = array.example.ndim
    if array.slot not in stacked and axis % dimensions == 0:
        return called(call.function, call.arguments, {"axis": 0})
    if array.slot in stacked and not (isinstance(indices, Recorded) and indices.slot in stacked):
        return called(call.function, call.arguments, {"axis": _behind(axis, dimensions)})
    return called_for_each(call, stacked, ranks)


def _matmul(call: Call, stacked: Slots, ranks: int) -> Bound:
    """Multiplies the matrices of each rank as if alone: NumPy calls BLAS once for each.

    A vector of each rank becomes a matrix of one row or column.
    """
    first, second = call.arguments
    if not isinstance(first, Recorded) or not isinstance(second, Recorded):
        return called_for_each(call, stacked, ranks)
    one, other = first.example.ndim, second.example.ndim
    dimensions = max(one, other, 2)
    if 1 in (one, other) and (one, other) != (1, 1) and dimensions > 2:
        return called_for_each(call, stacked, ranks)
    if first.slot in stacked and one == 1:
        left: Recorded = Derived(first, lambda value: value[:, None, :])
    else:
        left = _padded(first, stacked, dimensions)
    if second.slot in stacked and other == 1:
        right: Recorded = Derived(second, lambda value: value[:, :, None])
    else:
        right = _padded(second, stacked, dimensions)
    product = called_with(call.function, (left, right), {})
    shape = (ranks, *call.example.shape)
    return lambda values: product(values).reshape(shape)


_OF_LISTS: Final = ("concat", "stack")
"""The rules of functions of a list of arrays."""
_LAST_AXES: Final = ("matrix_transpose", "tril", "triu")
_ELEMENTWISE: Final = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "copysign"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "bitwise_invert"),
    *("positive", "negative", "abs", "sign", "signbit", "square", "reciprocal", "sqrt", "nextafter"),
    *("floor", "ceil", "trunc", "round", "isfinite", "isinf", "isnan", "conj", "real", "imag"),
    *("where", "clip", "astype"),
)
_TRANSCENDENTAL: Final = (
    *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "atan2", "hypot", "logaddexp"),
)
_REDUCTIONS: Final = ("sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "count_nonzero")

_RULES: Final[dict[str, Rule]] = {
    "elementwise": _elementwise,
    "reduction": _reduction,
    "index": _index,
    **dict.fromkeys(_ELEMENTWISE, _elementwise),
    **dict.fromkeys(_TRANSCENDENTAL, _transcendental),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    **dict.fromkeys(_LAST_AXES, lambda call, stacked, ranks: called(call.function, call.arguments, call.settings)),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod", "argmax", "argmin", "flip", "roll", "repeat"), _along(None)),
    **dict.fromkeys(("sort", "argsort", "diff"), _along(-1)),
    "unstack": _along(0),
    "expand_dims": _along(None, new=1),
    "concat": _joining(),
    "stack": _joining(new=1),
    "permute_dims": _permute,
    "reshape": _reshape,
    "broadcast_to": _broadcast,
    "moveaxis": _moveaxis,
    "squeeze": _squeeze,
    "take": _take,
    "pow": _power,
    "matmul": _matmul,
}
"""By name, of functions of the namespace and of groups of them.  Every other call is made once for each rank."""
