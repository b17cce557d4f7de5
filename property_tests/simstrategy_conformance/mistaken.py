"""Wrong calls, made of right ones: arguments of a wrong type, number or dtype, and axes that are none.

Each has the class of the error that the contract demands. It calls no backend.
"""

import inspect
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import numpy as np
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.calls import Case, Draw, matrix_of
from simstrategy_conformance.functions import CASES
from simstrategy_conformance.subject import Subject

__all__ = ["Mistaken", "calls_of", "mistakes_of"]

_REAL: Final = (
    "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "max", "min", "argmax", "argmin", "sort",
    "argsort", "searchsorted", "floor", "ceil", "trunc", "round", "signbit", "floor_divide", "remainder", "atan2",
    "copysign", "hypot", "logaddexp", "nextafter", "var", "std",
)  # fmt: skip
"""Functions that the standard has for real numbers alone."""
_BITS: Final = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip

_NUMBERS: Final = (
    "subtract", "negative", "positive", "sign", "square", "floor_divide", "remainder", "pow", "conj", "diff",
    "bitwise_left_shift", "bitwise_right_shift", "searchsorted",
)  # fmt: skip
"""Functions that the standard has for numbers, and not for bool."""
_BESIDE: Final = (
    "add", "subtract", "multiply", "maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater",
    "greater_equal", "bitwise_and", "bitwise_or", "bitwise_xor",
)  # fmt: skip
"""Functions that take a number beside an array, in the array's dtype."""
_BEYOND: Final = (("int8", 128), ("int8", -129), ("uint8", -1), ("int32", 2**31))
_DTYPES: Final = {
    **dict.fromkeys(_REAL, ("complex64",)),
    **dict.fromkeys(_BITS, ("float32", "complex64")),
    **dict.fromkeys(("real", "imag"), ("float32", "int32", "bool")),
}


class Mistaken(NamedTuple):
    """A wrong call.  what: the mistake in words. error: what it has to raise."""

    what: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    error: type[Exception]


def calls_of(name: str) -> Any:
    """Returns what draws right calls of a function, from a subject."""
    return CASES.get(name) or _matrices(2 if name == "divide" else 1)


def _matrices(count: int) -> Any:
    @st.composite
    def drawn(draw: Draw, subject: Subject) -> Case:
        x = matrix_of(draw, subject)
        return Case((x,) * count, x)

    return drawn


def _takes_axis(name: str) -> bool:
    found = inspect.signature(getattr(ss.device.ArrayNamespace, name)).parameters.get("axis")
    return found is not None and found.kind is inspect.Parameter.KEYWORD_ONLY


def mistakes_of(name: str, case: Case, dtypes: frozenset[str]) -> Iterator[Mistaken]:
    """Yields wrong calls of a function, made of a right one."""
    parameters = list(inspect.signature(getattr(ss.device.ArrayNamespace, name)).parameters.values())
    kinds = [one.kind for one in parameters]
    given, options, wrong = case.arguments, case.options, ss.errors.InvalidType
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    placed = sum(kind in by_place for kind in kinds)
    needed = sum(one.kind in by_place and one.default is inspect.Parameter.empty for one in parameters) - 1
    yield Mistaken("a setting that no function has", given, options | {"sideways": 1}, wrong)
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        yield Mistaken("no argument", (), options, wrong)
        if needed > 1:
            yield Mistaken("an argument too few", given[: needed - 1], options, wrong)
        # One of the parameters is the namespace.
        yield Mistaken("an argument too many", (*given, *[1] * (placed - len(given))), options, wrong)
    arrays = [place for place, one in enumerate(given) if isinstance(one, np.ndarray)]
    for place in arrays:
        for value in ("text", object()):
            others = (*given[:place], value, *given[place + 1 :])
            yield Mistaken(f"a {type(value).__name__} for array {place}", others, options, wrong)
    if name == "roll":
        yield from _of_shifts(given[0])
    if options.get("n") != 0:  # then nothing is computed, and any array comes back
        yield from _of_values(name, case, dtypes)


def _of_values(name: str, case: Case, dtypes: frozenset[str]) -> Iterator[Mistaken]:
    """Yields calls with an axis that is none, a number that a dtype does not have, and dtypes that are not taken."""
    given, options = case.arguments, case.options
    if _takes_axis(name) and given:
        yield Mistaken("an axis that is none", given, options | {"axis": 9}, ss.errors.InvalidArgument)
    for dtype, number in _BEYOND if name in _BESIDE else ():
        if dtype in dtypes:
            array = np.ones(given[0].shape, dtype)
            for beside in ((array, number), (number, array)):
                yield Mistaken(f"{number} beside {dtype}", beside, options, ss.errors.InvalidArgument)
    if name in _BESIDE and name in _REAL:
        for pair in ((np.ones(2, "float32"), 1j), (1j, np.ones(2, "int32"))):
            yield Mistaken("a complex number beside an array", pair, options, ss.errors.InvalidType)
    for dtype in (*_DTYPES.get(name, ()), *(("bool",) if name in _NUMBERS else ())):
        if dtype in dtypes:
            cast = tuple(one.real.astype(dtype) if isinstance(one, np.ndarray) else one for one in given)
            yield Mistaken(f"arrays of {dtype}", cast, options, ss.errors.InvalidType)
            places = [place for place, one in enumerate(given) if isinstance(one, np.ndarray)]
            for place in places if len(places) > 1 and dtype != "bool" else ():
                alone = (*given[:place], cast[place], *given[place + 1 :])
                yield Mistaken(f"{dtype} for array {place}", alone, options, ss.errors.InvalidType)


def _of_shifts(x: np.ndarray[Any, Any]) -> Iterator[Mistaken]:
    """Yields rolls whose shifts are not one for each axis."""
    for shift, axis in (((1, 1), (0,)), ((1,), 0), ((1,), None)) if x.ndim else ():
        what = f"shifts {shift} for axis {axis}"
        yield Mistaken(what, (x, shift), {"axis": axis}, ss.errors.InvalidArgument)
