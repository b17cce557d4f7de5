"""The signatures of array functions, and their settings as Python has them: axes, shapes, counts, flags.

A library takes numbers of NumPy, arrays, bools or a list for them, or refuses them, each in its own way. So what is no
int, bool or tuple of ints becomes one here, or is refused, before a library gets it; of the usual ones only the type is
looked at.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.device.namespace import ArrayNamespace
from simstrategy.device.promotion import kind_of

__all__ = [
    "ARRAYS",
    "NAMES",
    "Form",
    "Setting",
    "is_plain",
    "is_setting",
    "plain_setting",
    "settings_of",
    "settled",
    "signature_of",
]

NAMES: Final = ("dtype", "indexing", "side")
"""The parameters that take a name."""
ARRAYS: Final = ("Array", "Operand", "Number", "Real", "float")
"""Parts of the annotations of parameters that take arrays or numbers."""
_DIAGONAL_MAX: Final = 2**30
"""A diagonal that far off is outside of every matrix, and libraries count it in 32 bits."""
_AXES_MAX: Final = 64
_ON_THE_HOST: Final = ("start", "stop", "step", "correction")
"""Parameters that take numbers with which is computed on the host."""
_SEVERAL: Final = "tuple[int, ...]"
_PAIR: Final = "int | tuple[collections.abc.Sequence[int], collections.abc.Sequence[int]]"
_FORMS: Final = (_SEVERAL, "| collections.abc.Sequence[int]")
"""Annotations of parameters that take several ints, and what such an annotation has."""
_TYPES: Final = (bool, int, float, complex)
"""Python's numbers, by `kind_of`."""

Call = tuple[tuple[Any, ...], dict[str, Any]]
"""The arguments of a call by place, and those by name."""
Form = Callable[[Any], tuple[tuple[int, ...], str] | None]
"""Returns the shape and dtype of a backend's array or a host array, and None for any other value."""


class Setting(NamedTuple):
    """A parameter that takes axes, sizes, counts, a flag, or a number of the host."""

    place: int
    """Its place among the arguments of a method, the namespace being the first; no place if it is given by name."""
    name: str
    default: Any
    usual: frozenset[type]
    """The types whose values are passed on as they are."""
    takes_several: bool
    """Whether it takes a tuple of ints."""


@lru_cache(maxsize=256)
def signature_of(name: str) -> inspect.Signature:
    """Returns the signature of a function of `xp`, without the namespace."""
    signature = inspect.signature(getattr(ArrayNamespace, name))
    return signature.replace(parameters=list(signature.parameters.values())[1:])


@lru_cache(maxsize=256)
def settings_of(name: str) -> tuple[Setting, ...]:
    """Returns the settings of a function of `xp`, but for names."""
    found = []
    for place, one in enumerate(signature_of(name).parameters.values(), 1):
        if is_setting(one):
            usual = {bool} if one.annotation is bool else {*_TYPES} if one.name in _ON_THE_HOST else {int}
            usual |= {type(None)} if "None" in str(one.annotation) else set()
            usual = set() if one.name == "k" or str(one.annotation) in (_SEVERAL, _PAIR) else usual
            by_place = sys.maxsize if one.kind is one.KEYWORD_ONLY else place
            default = 0 if one.default is one.empty else one.default
            several = any(form in str(one.annotation) for form in _FORMS)
            found.append(Setting(by_place, one.name, default, frozenset(usual), several))
    return tuple(found)


def is_setting(parameter: inspect.Parameter) -> bool:
    """Returns whether a parameter takes neither arrays nor a name."""
    annotation = str(parameter.annotation)
    return parameter.name in _ON_THE_HOST or not (parameter.name in NAMES or any(one in annotation for one in ARRAYS))


def settled(
    name: str, arguments: Sequence[Any], options: Mapping[str, Any], form: Form = lambda _: None
) -> Call | None:
    """Returns a call of `xp.name` with settings as Python has them; None where they are so, or no such call can be.

    form: see `Form`; arrays of integers are settings by their values, where they have one yet. Raises TypeError for a
    setting of another type.

    >>> import numpy as np
    >>> settled("sum", ("x",), {"axis": [np.int64(0), 1], "keepdims": np.True_})
    (('x',), {'axis': (0, 1), 'keepdims': True})
    """
    try:
        bound = signature_of(name).bind(*arguments, **options)
    except TypeError:
        return None
    is_changed = False
    for parameter, value in bound.arguments.items():
        declared = signature_of(name).parameters[parameter]
        if is_setting(declared):
            plain = plain_setting(declared, value, form)
            is_changed = is_changed or plain is not value
            bound.arguments[parameter] = plain
    return (bound.args, bound.kwargs) if is_changed else None


def is_plain(value: Any, usual: frozenset[type], *, takes_several: bool) -> bool:
    """Returns whether the value of a setting, of a type that is not among the usual ones, is passed on as it is."""
    if isinstance(value, tuple):
        return takes_several and len(value) <= _AXES_MAX and all(type(one) is int for one in value)
    return not usual and not takes_several and type(value) is int and 0 <= value <= _DIAGONAL_MAX


def plain_setting(parameter: inspect.Parameter, value: Any, form: Form) -> Any:
    """Returns what Python has for a setting: an int for NumPy's or an array's, a tuple for a list, a bool for 0 or 1.

    An array without a value yet, and what is neither an array nor a number, is returned as it is. Raises TypeError
    with the reason for a setting of a wrong type, ValueError for more axes than any array has.
    """
    name, annotation = parameter.name, str(parameter.annotation)
    if value is None:
        if "None" not in annotation and parameter.default is not None:
            raise TypeError(f"{name} is None")
        return None
    if parameter.annotation is bool:
        return _flag(name, value, form)
    if name in _ON_THE_HOST:
        return _number(name, value, form)
    plain = _whole(name, value, form)
    if isinstance(plain, tuple):
        if len(plain) > _AXES_MAX:
            raise ValueError("an array has at most 64 axes")
        if annotation == _PAIR:
            return tuple([(one,) if isinstance(one, int) else one for one in plain])
        if not any(one in annotation for one in _FORMS):
            raise ValueError(f"{name} is one integer")
    elif isinstance(plain, int):
        return _one(name, plain, annotation)
    return plain


def _one(name: str, plain: int, annotation: str) -> Any:
    """Returns a setting that is one int: as a tuple where one is wanted.  Raises ValueError for an impossible one."""
    if annotation == _SEVERAL:
        return (plain,)
    if annotation == _PAIR and plain < 0:
        raise ValueError(f"{name} is negative")
    return max(-_DIAGONAL_MAX, min(plain, _DIAGONAL_MAX)) if name == "k" else plain


def _flag(name: str, value: Any, form: Form) -> Any:
    """Returns a bool for a bool of NumPy, an array of one, and the integers 0 and 1."""
    if type(value) is bool:
        return value
    found = form(value)
    is_number = isinstance(value, (np.bool_, int, np.integer)) or (found is not None and not found[0])
    if is_number and (found is None or kind_of(found[1]) < 2):
        plain = _valued(int, value)
        if plain is value or plain in (0, 1):
            return value if plain is value and not isinstance(value, int) else bool(plain)
    raise TypeError(f"{name} is True or False")


def _number(name: str, value: Any, form: Form) -> Any:
    """Returns a number of Python for one of NumPy, and for an array without axes."""
    if type(value) in _TYPES:
        return value
    found = form(value)
    if found is not None and found[0]:
        raise TypeError(f"{name} is one number, and no array with axes")
    kind = kind_of(found[1]) if found is not None else 0 if isinstance(value, (*_TYPES, np.number, np.bool_)) else 4
    if kind == len(_TYPES):
        raise TypeError(f"{name} is neither an array nor a number")
    if found is not None:
        return _valued(_TYPES[kind], value)
    return value.item() if isinstance(value, np.generic) else value


def _whole(name: str, value: Any, form: Form) -> Any:
    """Returns ints, one by one or in tuples.  Raises TypeError for bools, other numbers, texts, sets and mappings."""
    if type(value) is int:
        return value
    if isinstance(value, (list, tuple, range)):
        plain = tuple([_whole(name, one, form) for one in value])
        is_same = isinstance(value, tuple) and all(one is other for one, other in zip(plain, value, strict=True))
        return value if is_same else plain
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is one integer or several, and no bool")
    if isinstance(value, (int, np.integer)):
        return int(value)
    found = form(value)
    is_wrong = isinstance(value, (float, complex, np.generic, str, bytes, set, frozenset, Mapping, type(None), type))
    if is_wrong or (found is not None and (kind_of(found[1]) != 1 or len(found[0]) > 1)):
        raise TypeError(f"{name} is one integer or several")
    if found is None:
        return value
    return _valued(int, value) if not found[0] else _valued(_ints, value)


def _ints(values: Any) -> tuple[int, ...]:
    return tuple([int(one) for one in values])


def _valued(convert: Callable[[Any], Any], array: Any) -> Any:
    """Returns what an array's values become; the array itself while a framework traces, when it has none."""
    try:
        return convert(array)
    except TypeError:
        return array
