"""The errors of array functions: one class and one text for a mistake, whatever the framework raises for it.

They depend on the arguments alone: InvalidType for one of a wrong type, or of a dtype that the function does not take,
else InvalidArgument. The framework's own error is the cause (`__cause__`). Clauses: B-22
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import Any, Final

import numpy as np

from simstrategy.device.promotion import kind_of
from simstrategy.device.settings import (
    ARRAYS,
    NAMES,
    Form,
    Setting,
    is_plain,
    is_setting,
    plain_setting,
    settings_of,
    settled,
    signature_of,
)
from simstrategy.device.terms import Operand
from simstrategy.errors import InvalidArgument, InvalidType, SimStrategyError

__all__ = ["KIND_MAX", "KIND_MIN", "SIZED", "Form", "guarded", "is_number", "refusal"]

Argument = Operand | str | None
"""What a call may have got: arrays, numbers, lists, names, settings."""
Bound = Mapping[str, Argument]
"""The arguments of a call by the names of the parameters."""

_BITS: Final = (
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_invert", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip
_REAL: Final = (
    "maximum", "minimum", "less", "less_equal", "greater", "greater_equal", "max", "min", "argmax", "argmin", "sort",
    "argsort", "searchsorted", "clip", "floor", "ceil", "trunc", "round", "signbit", "floor_divide", "remainder",
    "atan2", "copysign", "hypot", "logaddexp", "nextafter", "var", "std",
)  # fmt: skip
_NUMBERS: Final = (
    "subtract", "negative", "positive", "sign", "square", "floor_divide", "remainder", "pow", "conj",
    "bitwise_left_shift", "bitwise_right_shift", "diff", "searchsorted",
)  # fmt: skip
KIND_MAX: Final = {**dict.fromkeys(_REAL, 2), **dict.fromkeys(_BITS, 1)}
KIND_MIN: Final = {**dict.fromkeys(_NUMBERS, 1), **dict.fromkeys(("real", "imag"), 3)}
"""The highest and lowest kind of dtype that a function computes in: see `kind_of`."""
_REASONS: Final = {
    "squeeze": "only axes of size 1 can go, each once",
    "tril": "it takes matrices […, m, n]",
    "triu": "it takes matrices […, m, n]",
    "pow": "an integer to a negative power is no integer; cast it to a float first",
}
"""What is wrong where a function has refused values of the right types and shapes: one reason alone is left."""
_LARGEST: Final = ("max", "min", "argmax", "argmin")
_INDICES: Final = ("indices", "sorter", "repeats")
_UNNAMED: Final = "its shapes, values or settings do not fit together"
SIZED: Final = ("zeros", "ones", "full", "eye", "arange", "linspace", "broadcast_to", "tile", "repeat")
"""Functions whose settings alone, or numbers, decide how large the result is."""
_TOO_LARGE: Final = "there is not enough memory for so many elements"
_ELEMENTS_MAX: Final = 2**31
"""The largest number of elements for which a refusal may have another reason than their number."""


def refusal(
    name: str, arguments: Sequence[Argument], options: Mapping[str, Argument], error: Exception, form: Form
) -> SimStrategyError:
    """Returns the error of a call of `xp.name` that a framework has refused; an error of simstrategy as it is."""
    if isinstance(error, SimStrategyError):
        return error
    kind: type[SimStrategyError] = InvalidType
    options = {key: value for key, value in options.items() if not _is_default(name, key, value)}
    try:
        bound: Bound = signature_of(name).bind(*arguments, **options).arguments
        reason = _wrong_type(name, bound, form)
        if not reason:
            kind, reason = InvalidArgument, _wrong_value(name, bound, form)
    except TypeError as wrong:
        reason = str(wrong)
    except ValueError as wrong:
        kind, reason = InvalidArgument, str(wrong)
    if isinstance(error, MemoryError):
        kind, reason = InvalidArgument, _TOO_LARGE
    return kind(
        f"xp.{name}({_call(arguments, options, form)}): {reason}. Change the arguments as "
        f"help(simstrategy.device.ArrayNamespace.{name}) states."
    )


def guarded(
    function: Callable[..., Any],
    name: str,
    form: Form,
    foreign: tuple[type[Exception], ...],
    *others: type[Exception],
    faults: tuple[type[Exception], ...] = (),
    exhausted: tuple[type[Exception], ...] = (),
) -> Any:
    """Returns a method of a namespace that raises our errors, and gets settings as Python has them (`settled`).

    foreign: the framework's errors that stand for a mistake in the arguments; others: those that do not, though their
    class is derived from one of these; faults: those that do only where the mistake can be named; exhausted: those of
    a memory that is full, besides MemoryError, a mistake where arguments alone decide how large a result is.
    """
    least, most = 0, -1  # at the first call the form is read: those of all functions would cost every start
    keywords: frozenset[str] = frozenset()
    settings: tuple[Setting, ...] = ()
    full: tuple[type[Exception], ...] = (MemoryError, *exhausted) if name in SIZED else ()
    raised: tuple[type[Exception], ...] = others if name in SIZED else (*others, *exhausted)

    @wraps(function)
    def call(*arguments: Argument, **options: Argument) -> Any:
        nonlocal least, most, keywords, settings
        try:
            count = len(arguments)
            if count > most or count + len(options) <= least or (options and not keywords.issuperset(options)):
                least, most, keywords = _form_of(name)
                settings = settings_of(name)
                signature_of(name).bind(*arguments[1:], **options)  # raises what is wrong with it
            for place, key, default, usual, several in settings:
                value: Any = arguments[place] if place < count else options.get(key, default)
                if type(value) not in usual and not is_plain(value, usual, takes_several=several):
                    plain = settled(name, arguments[1:], options, form)
                    if plain is not None:
                        return function(arguments[0], *plain[0], **plain[1])
            return function(*arguments, **options)
        except full as error:
            raise refusal(name, arguments[1:], options, MemoryError(), form) from error
        except raised:
            raise
        except foreign as error:
            refused = refusal(name, arguments[1:], options, error, form)
            if refused is error or (isinstance(error, faults) and _UNNAMED in str(refused)):
                raise
            raise refused from error

    return call


@lru_cache(maxsize=256)
def _form_of(name: str) -> tuple[int, int, frozenset[str]]:
    """Returns how many arguments a function needs, how many it takes by place, itself included, and which by name.

    A framework's function takes others, which would work on one backend alone.
    """
    parameters = signature_of(name).parameters.values()
    placed = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    several = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    return len(needed), sys.maxsize if several else len(placed) + 1, frozenset(names)


def _wrong_type(name: str, bound: Bound, form: Form) -> str:
    """Returns what is wrong with the type of an argument, "" for nothing."""
    dtypes = []
    for parameter, value in bound.items():
        declared = signature_of(name).parameters[parameter]
        annotation = str(declared.annotation)
        if value is None:
            if declared.default is not None and "None" not in annotation:
                return f"{parameter} is None"
        elif parameter in NAMES:
            if not isinstance(value, str):
                return f"{parameter} is a name, not a {type(value).__name__}"
        elif is_setting(declared):
            plain = plain_setting(declared, value, form)  # raises what is wrong with it
            if not any(one in annotation for one in ARRAYS) and not all(
                isinstance(one, int) for one in _leaves(plain, form)
            ):
                return f"{parameter} is one integer or several"
        else:
            found = [_dtype(one, form) for one in _leaves(value, form)]
            if not all(kind_of(dtype) < 4 for dtype in found):
                return f"{parameter} is neither an array nor a number"
            if parameter in _INDICES and not all(kind_of(dtype) == 1 for dtype in found):
                return f"{parameter} are integers"
            dtypes += found if parameter not in (*_INDICES, "condition") else []
    high = max(dtypes, key=kind_of, default="int32")
    return "" if KIND_MIN.get(name, 0) <= kind_of(high) <= KIND_MAX.get(name, 3) else f"it does not take {high}"


def _is_default(name: str, key: str, value: Argument) -> bool:
    """Returns whether a setting is what it is where it is not given: a backend may have passed it on."""
    declared = signature_of(name).parameters.get(key)
    return declared is not None and (value is declared.default or value is None is declared.default)


def _wrong_value(name: str, bound: Bound, form: Form) -> str:
    """Returns what is wrong with the arguments, as far as that can be found without the framework."""
    found = [form(value) for value in bound.values()]
    arrays = [one for one in found if one is not None]
    axis: Any = bound.get("axis")
    dimensions = len(arrays[0][0]) if arrays else 0
    for one in axis if isinstance(axis, tuple) else (axis,):
        if arrays and isinstance(one, (int, np.integer)) and not -dimensions <= one < dimensions:
            return f"there is no axis {one} in shape {list(arrays[0][0])}"
    filling = form(bound.get("fill_value"))
    if name in SIZED and _elements(name, bound) > _ELEMENTS_MAX:
        return _TOO_LARGE
    if filling is not None and filling[0]:
        return "fill_value is one number"
    if name in _REASONS and _fit([shape for shape, _ in arrays]):
        return _REASONS[name]
    if name in _LARGEST and any(0 in shape for shape, _ in arrays):
        return "nothing has no largest or smallest"
    return _not_held([one for one in bound.values() if type(one) is int], [dtype for _, dtype in arrays]) or _UNNAMED


def _not_held(numbers: Sequence[Any], dtypes: Sequence[str]) -> str:
    """Returns which int a dtype of integers does not have, "" for none."""
    for number in numbers:
        for dtype in dtypes:
            if kind_of(dtype) == 1 and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
                return f"{dtype} has no {number}"
    return ""


def _elements(name: str, bound: Bound) -> int:
    """Returns how many elements the sizes of a call make, 0 if one is negative or its sizes are no settings."""
    given: Any = bound.get("shape")
    if name == "eye":
        columns = bound.get("n_cols")
        given = (bound["n_rows"], bound["n_rows"] if columns is None else columns)
    elif name == "linspace":
        given = bound["num"]
    sizes = [int(one) for one in (given if isinstance(given, (tuple, list)) else (given,)) if is_number(one)]
    return 0 if min(sizes, default=-1) < 0 else math.prod(sizes)


def _fit(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Returns whether arrays of these shapes can be computed with element by element."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def _dtype(value: Any, form: Form) -> str:
    array = form(value)
    if array is not None:
        return array[1]
    if type(value) is int:
        return "int64"  # NumPy has objects for those beyond 64 bits
    return np.asarray(value).dtype.name if is_number(value) else "object"


def is_number(value: Argument) -> bool:
    """Returns whether a value is a number of Python or NumPy."""
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def _leaves(value: Argument, form: Form) -> Iterable[Argument]:
    """Returns the arrays and numbers of an argument."""
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _leaves(one, form)
    else:
        yield value


def _call(arguments: Sequence[Argument], options: Mapping[str, Argument], form: Form) -> str:
    given = [_shown(one, form) for one in arguments]
    return ", ".join([*given, *(f"{key}={_shown(one, form)}" for key, one in options.items())])


def _shown(value: Argument, form: Form) -> str:
    array = form(value)
    if array is not None:
        return f"{array[1]}{list(array[0])}"
    if isinstance(value, (list, tuple)):
        shown = ", ".join([_shown(one, form) for one in value[:4]] + ["…"] * (len(value) > 4))
        return f"({shown})" if isinstance(value, tuple) else f"[{shown}]"
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    return f"a {type(value).__name__}"
