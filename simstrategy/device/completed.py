"""An `xp` made of functions that compute with arrays of one dtype: what all backends have in common is put around them.

Arguments are cast to the dtype of the contract, sums of few bits are computed in more, and a call that cannot be
carried out raises our errors. The functions themselves are the backend's, and so is every cast.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np

from simstrategy.device import composed
from simstrategy.device.adoption import JOINING, TOGETHER, adopted, computed_together
from simstrategy.device.functions.shapes import require_shifts
from simstrategy.device.host_data import filling, host_array
from simstrategy.device.namespace import ArrayNamespace, canonical_dtype
from simstrategy.device.promotion import common_dtype, float_dtype, kind_of
from simstrategy.device.refusals import KIND_MAX, KIND_MIN, Form, guarded, is_number

__all__ = ["completed"]

Function = Callable[..., Any]

_OF_FLOATS: Final = frozenset((
    "divide", "atan2", "copysign", "hypot", "logaddexp", "nextafter", "signbit", "sqrt", "exp", "expm1", "log", "log1p",
    "log2", "log10", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "mean", "var", "std", "reciprocal",
))  # fmt: skip
_SUMMING: Final = ("sum", "prod", "mean", "cumulative_sum", "cumulative_prod")
_AXES: Final = {
    "tril": (2, 99), "triu": (2, 99), "meshgrid": (0, 1), "cumulative_sum": (1, 99), "cumulative_prod": (1, 99),
    "argsort": (1, 99),
}  # fmt: skip
"""The least and the largest number of axes of an array, where a function does not take any number of them."""
_NARROW: Final = ("float16", "bfloat16")
_NUMBERS: Final = {bool: 0, int: 1, float: 2, complex: 3}
"""The kind of each type of number, as `kind_of` has it."""
_FAULTS: Final = (AttributeError, NameError, ImportError, KeyError)
"""What a function raises that is misspelt or not finished, where no argument is found wrong."""
_PLAIN: Final = (bool, int, float, complex, list, tuple, type(None), np.generic)
"""What may be given by place beside arrays: numbers, shapes, axes, counts; `astype` alone takes a name so."""


def completed(functions: Mapping[str, Function], form: Form) -> ArrayNamespace:
    """Returns an `xp` of a backend's functions by name, with the rules that are the same on all backends.

    functions: those of `NAMES`, each right where its arrays have one dtype; `astype` is used for casts. What can be
    made of others (`composed`, but for `diff`, which takes slices) may be left out. They get the backend's arrays, host
    arrays, and Python numbers beside these; dtypes by name. form: returns the shape and dtype name of an array of the
    backend, and None for anything else. A call that cannot be carried out raises InvalidType where an argument has a
    wrong type, or a dtype that the function does not take, else InvalidArgument; the function's error is the cause.
    An AttributeError, NameError, ImportError or KeyError of a function stays as it is where no argument is found wrong.
    Clauses: B-18 to B-22

    >>> import numpy as np
    >>> functions = {name: getattr(np, name) for name in ("add", "astype", "sqrt")}
    >>> xp = completed(functions, lambda value: None)
    >>> xp.add(np.ones(2, "int64"), np.ones(2, "float32")).dtype, xp.sqrt(np.ones(2, "int8")).dtype
    (dtype('float32'), dtype('float32'))
    """

    def form_of(value: Any) -> tuple[tuple[int, ...], str] | None:
        return (value.shape, value.dtype.name) if isinstance(value, np.ndarray) else form(value)

    def method(name: str, function: Function) -> Function:
        def call(_self: None, *arguments: Any, **options: Any) -> Any:
            arguments, options = _named(name, *adopted(name, arguments, options, form_of), form_of)
            _require_types(name, arguments, form_of)
            _require_forms(name, arguments, options, form_of)
            given = _in_common(name, arguments, functions["astype"], form_of)
            if name in _SUMMING and given and (narrow := _narrow(given[0], form_of)) is not None:
                wide = functions["astype"](given[0], "float32")
                return functions["astype"](function(wide, *given[1:], **options), narrow)
            return function(*given, **options)

        return partial(guarded(call, name, form_of, (Exception,), faults=_FAULTS), None)

    xp = SimpleNamespace(**{name: method(name, one) for name, one in functions.items()})
    added = [name for name in composed.__all__ if name not in functions and name != "diff"]
    made = {name: guarded(vars(composed)[name], name, form_of, (Exception,)) for name in added}
    vars(xp).update({name: partial(one, xp) for name, one in made.items()})
    return cast(ArrayNamespace, xp)


def _named(
    name: str, arguments: tuple[Any, ...], options: dict[str, Any], form: Form
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Returns the arguments, by place and by name, with dtypes by name; `full` gets one in any case.

    Raises for what is no dtype, and for a number that an array of the dtype cannot be filled with.
    """
    if name == "astype" and len(arguments) > 1:
        return (arguments[0], _dtype_named(arguments[1]), *arguments[2:]), options
    if options.get("dtype") is not None:
        options = {**options, "dtype": _dtype_named(options["dtype"])}
    number: Any = arguments[1] if name in ("full", "full_like") and len(arguments) > 1 else None
    if is_number(number):
        found = form(arguments[0]) if name == "full_like" else None
        dtype = options.get("dtype") or (host_array(number).dtype.name if found is None else found[1])
        if dtype != "bfloat16":
            filling(number, np.dtype(dtype))
        return arguments, {**options, "dtype": dtype}
    return arguments, options


def _dtype_named(dtype: Any) -> str:
    name = canonical_dtype(dtype)
    if name != "bfloat16" and np.dtype(name).name != name:
        raise ValueError("no dtype by its name")
    return name


def _require_types(name: str, arguments: tuple[Any, ...], form: Form) -> None:
    """Raises TypeError for what a library may well compute with: texts and objects, and dtypes that are refused."""
    kinds, given = [], arguments[:1] if name == "astype" else arguments
    for value in given:
        found = form(value)
        if found is None and not isinstance(value, _PLAIN):
            raise TypeError("neither an array nor a number")
        kinds += [] if found is None else [kind_of(found[1])]
    if kinds:
        high = max(*kinds, *(_NUMBERS.get(type(value), 0) for value in given))
        if not KIND_MIN.get(name, 0) <= high <= KIND_MAX.get(name, 3):
            raise TypeError("another dtype")


def _require_forms(name: str, arguments: tuple[Any, ...], options: Mapping[str, Any], form: Form) -> None:
    """Raises for numbers of axes, axes and indices with which a library may well compute, as NumPy does."""
    shapes = [found[0] for found in map(form, arguments) if found is not None]
    fewest, most = _AXES.get(name, (0, 99))
    if not all(fewest <= len(shape) <= most for shape in shapes[:1] if fewest) or any(
        len(one) > most for one in shapes
    ):
        raise ValueError("another number of axes")
    axis = options.get("axis", -1 if name == "argsort" else None)
    if name not in ("expand_dims", "stack") and shapes:
        for one in axis if isinstance(axis, tuple) else (axis,):
            if type(one) is int and not -len(shapes[0]) <= one < len(shapes[0]):
                raise IndexError("there is no such axis")
    places = form(arguments[1]) if name in ("take", "take_along_axis") and len(arguments) > 1 else None
    if places is not None and kind_of(places[1]) != 1:
        raise TypeError("indices are integers")
    if name == "roll" and len(arguments) > 1:
        require_shifts(arguments[1], axis)


def _narrow(value: Any, form: Form) -> str | None:
    """Returns the dtype of an array of few bits, None for anything else."""
    found = form(value)
    return found[1] if found is not None and found[1] in _NARROW else None


def _in_common(name: str, arguments: tuple[Any, ...], astype: Function, form: Form) -> tuple[Any, ...]:
    """Returns the arguments of a call with its arrays [...] in the dtype in which the contract computes it."""
    if name in JOINING and arguments and isinstance(arguments[0], (list, tuple)):
        return (_cast(arguments[0], astype, form, floats=False), *arguments[1:])
    if name not in _OF_FLOATS and name not in TOGETHER and name != "where":
        return arguments
    first, last = computed_together(name)
    # NumPy's own searchsorted does not round a number to the dtype beside it.
    numbers = name == "searchsorted"
    cast_ones = _cast(arguments[first:last], astype, form, floats=name in _OF_FLOATS, numbers=numbers)
    return (*arguments[:first], *cast_ones, *arguments[last:])


def _cast(values: Any, astype: Function, form: Form, *, floats: bool, numbers: bool = False) -> list[Any]:
    """Returns arrays in their common dtype, and all other values as they are: a number takes the dtype beside it.

    numbers: makes arrays of numbers as well, so that the function need not know that.
    Raises OverflowError for a number that this dtype does not have.
    """
    forms = [form(one) for one in values]
    dtypes = tuple([found[1] for found in forms if found is not None])
    types = tuple([type(one) for one in values if isinstance(one, (bool, int, float, complex))])
    if not dtypes:
        return list(values)
    wanted = common_dtype(dtypes, types)
    wanted = float_dtype(wanted) if floats else wanted
    if kind_of(wanted) == 1:
        bounds = np.iinfo(wanted)
        if not all(bounds.min <= one <= bounds.max for one in values if type(one) is int):
            raise OverflowError("a number that the dtype does not have")

    def cast_one(one: Any) -> Any:  # NumPy casts host arrays, which have no place yet
        return one.astype(wanted) if isinstance(one, np.ndarray) and wanted != "bfloat16" else astype(one, wanted)

    if numbers and wanted != "bfloat16":
        values = [np.asarray(one, wanted) if type(one) in _NUMBERS else one for one in values]
    pairs = zip(values, forms, strict=True)
    return [one if found is None or found[1] == wanted else cast_one(one) for one, found in pairs]
