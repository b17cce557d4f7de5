"""How NumPy's functions become the simulator's: what they adopt, where their results are, and which dtype these have.

NumPy takes longer to carry a subclass through an operation than to add two short arrays: these functions let it compute
with plain arrays, and take a view of the result, which costs next to nothing. Errors become ours where they come up
(`mistakes.py`): a `try` costs nothing while nothing is raised.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from simstrategy.device.functions.reductions import Axis
from simstrategy.device.promotion import kind_of
from simstrategy.device.terms import Operand
from simstrategy.errors import InvalidType, SimStrategyError
from simstrategy.sim.arrays import NUMBERS, Host, SimArray, view
from simstrategy.sim.host_functions import wide
from simstrategy.sim.mistakes import FOREIGN, MISSING, called_again, misformed, refused, require_comparable
from simstrategy.sim.mixed import joined, masked, mixed, name_of, together

__all__ = [
    "Adopting",
    "adopted",
    "binary",
    "joining",
    "operand",
    "operands",
    "pairing",
    "places",
    "plain",
    "reduction",
    "running",
    "several",
    "unary",
]

_Plain: Final = np.ndarray

Method: TypeAlias = Callable[..., SimArray]
"""A function of `SimNamespace`; `simstrategy.device.functions` states what it takes."""

Setting: TypeAlias = Operand | str | None
"""What a function takes besides its arrays: axes, shapes, counts, places, names."""


class Adopting(Protocol):
    """What the functions need of their namespace."""

    @property
    def kind(self) -> type[SimArray]: ...
    def asarray(self, value: Operand) -> SimArray: ...
    def place(self, value: Host | np.generic) -> SimArray: ...


def adopted(namespace: Adopting, call: Callable[..., Any], x: Any, *more: Any) -> SimArray:
    """Makes an array of the first argument of `call`, which is none yet.  Raises the call's error if it is missing."""
    if x is MISSING:
        raise misformed(call, (x, *more), {})
    return namespace.asarray(x)


def joining(function: Callable[..., Any]) -> Method:
    """Makes a function that joins several arrays."""

    def call(_self: Adopting, arrays: Sequence[Operand], /, *, axis: int | None = 0) -> SimArray:
        try:
            kinds = [type(array) for array in arrays if isinstance(array, SimArray)]
            if len(kinds) < len(arrays):
                arrays = together([operand(_self, one) for one in arrays])
            plains = [view(array if isinstance(array, SimArray) else _self.asarray(array), _Plain) for array in arrays]
            return view(function(joined(plains), axis=axis), kinds[0] if kinds else _self.kind)
        except FOREIGN as error:
            raise refused(call, (arrays,), {"axis": axis}, error) from error

    return call


def operand(namespace: Adopting, x: Operand) -> Operand:
    """Makes an array of a list, in the default dtype; a number beside an array takes the array's."""
    if isinstance(x, (np.ndarray, np.generic, bool, int, float, complex)):
        return x
    return namespace.asarray(x)


def binary(function: Callable[..., Any], *, floats: bool = False, compares: bool = False) -> Method:
    """Makes a function of two arrays.

    floats: whether integers are computed as float32. compares: whether it takes numbers that NumPy compares and no
    other backend does, and refuses them: see `require_comparable`.
    """

    def call(_self: Adopting, x1: Any = MISSING, x2: Any = MISSING, /, *more: Any, **others: Any) -> SimArray:
        if more or others:
            raise misformed(call, (x1, x2, *more), others)
        kind: type[SimArray] = type(x1)
        # The usual arguments, without the rest: two arrays of one device, or an array and a number.
        if (type(x2) is kind or type(x2) in NUMBERS) and isinstance(x1, SimArray):
            try:
                if compares and x1.dtype.kind != "f":  # NumPy refuses what is wrong beside a float
                    require_comparable(call, x1, x2)
                result = function(x1, x2, casting="no", subok=False)
            except FOREIGN as error:
                result = _again(call, function, (x1, x2), (x1, x2), floats, error)
        else:
            result, kind = _converted(call, function, _self, (x1, x2), floats, compares)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def _converted(
    call: Method,
    function: Callable[..., Any],
    namespace: Adopting,
    given: tuple[Any, Any],
    floats: bool,
    compares: bool,
) -> tuple[Any, type[SimArray]]:
    """Returns the result of `binary`, and its class, where the arguments may have to become arrays first."""
    if given[1] is MISSING:
        raise misformed(call, given, {})
    first, second = given
    kind: type[SimArray] = type(first)
    try:
        first, second, kind = operands(namespace, first, second)
        if compares:
            require_comparable(call, first, second)
        return function(first, second, casting="no", subok=False), kind
    except FOREIGN as error:
        return _again(call, function, given, (first, second), floats, error), kind


def _again(
    call: Method,
    function: Callable[..., Any],
    given: tuple[Any, ...],
    values: tuple[Any, ...],
    floats: bool,
    error: Any,
) -> Host:
    """Computes what NumPy has refused, in the common dtype.  Raises our error where that is not the reason."""
    if isinstance(error, SimStrategyError):
        raise error
    if not floats and len(values) == 2 and isinstance(values[0], np.ndarray) and isinstance(values[1], np.ndarray):
        try:
            quick = masked(function, *values)
        except FOREIGN:
            quick = None
        if quick is not None and kind_of(name_of(quick)) < 3:
            return quick
    wrong = refused(call, given, {}, error)
    try:
        result: Host | None = None if isinstance(wrong, InvalidType) else mixed(function, values, floats=floats)
    except FOREIGN as another:
        raise refused(call, given, {}, another) from another
    if result is None:
        raise wrong from error
    return result


def operands(namespace: Adopting, x1: Operand, x2: Operand) -> tuple[Operand, Operand, type[SimArray]]:
    """Returns what to compute with, and the class of the result."""
    kind = type(x1) if isinstance(x1, SimArray) else type(x2) if isinstance(x2, SimArray) else namespace.kind
    if not isinstance(x1, (np.ndarray, np.generic)) and not isinstance(x2, (np.ndarray, np.generic)):
        x1 = namespace.asarray(x1)
    return operand(namespace, x1), operand(namespace, x2), kind


def unary(function: Callable[..., Any], *, floats: bool = False, otherwise: Callable[..., Any] | None = None) -> Method:
    """Makes a function of one array.

    floats: whether integers are computed as float32. otherwise: what is called for integers and bool instead.
    """

    def call(_self: Adopting, x: Any = MISSING, /, *more: Any, **others: Any) -> SimArray:
        if more or others:
            raise misformed(call, (x, *more), others)
        array: Any = x
        try:
            if not isinstance(x, SimArray):
                array = adopted(_self, call, x)
            result: Any = function(array, casting="no", subok=False)
        except FOREIGN as error:
            if otherwise is not None and isinstance(array, SimArray) and kind_of(name_of(array)) < 2:
                result = otherwise(array)
            else:
                result = _again(call, function, (x,), (array,), floats, error)
        kind: type[SimArray] = type(array)
        try:
            return view(result, kind)
        except TypeError:  # a number
            return np.asarray(result).view(kind)

    return call


def reduction(function: Callable[..., Any], *, keep_dtype: bool = False, quick: tuple[Any, int] = (None, 0)) -> Method:
    """Makes a reduction of one called as `function(array, axis, dtype, None, keepdims)`.

    quick: what `function` calls for dtypes that NumPy numbers below a limit, which it keeps, and this limit.
    """
    direct, limit = quick

    def call(
        _self: Adopting, x: Any = MISSING, /, *more: Any, axis: Axis = None, keepdims: bool = False, **others: Any
    ) -> SimArray:
        if more or others:
            raise misformed(call, (x, *more), others)
        array: Any = x
        kind: type[SimArray] = type(x)
        try:
            if not isinstance(x, SimArray):
                array = adopted(_self, call, x)
                kind = type(array)
            plain = view(array, _Plain)
            dtype = plain.dtype
            if dtype.num < limit:
                result = direct(plain, axis, dtype, None, keepdims)
            else:
                result = function(plain, axis, dtype if keep_dtype else None, None, keepdims)
        except FOREIGN as error:
            return called_again(call, _self, (x,), {"axis": axis, "keepdims": keepdims}, error)
        try:
            return view(result, kind)
        except TypeError:  # a number; of an array without axes NumPy takes axis 0 and -1
            if axis is not None and not plain.ndim and not (isinstance(axis, tuple) and not axis):
                raise refused(call, (x,), {"axis": axis, "keepdims": keepdims}, IndexError("no axes")) from None
            return np.asarray(result).view(kind)

    return call


def plain(function: Callable[..., Any]) -> Method:
    """Makes a function of one array and settings that computes with a plain array."""

    def call(_self: Adopting, x: Operand, /, *arguments: Setting, **keywords: Setting) -> SimArray:
        try:
            array = x if isinstance(x, SimArray) else _self.asarray(x)
            result = function(view(array, _Plain), *arguments, **keywords)
        except FOREIGN as error:
            raise refused(call, (x, *arguments), keywords, error) from error
        try:
            return view(result, type(array))
        except TypeError:  # a number
            return np.asarray(result).view(type(array))

    return call


def places(function: Callable[..., Any]) -> Method:
    """Makes a function whose results are places or counts: int32."""

    def call(_self: Adopting, x: Operand, /, *arguments: Setting, **keywords: Setting) -> SimArray:
        try:
            array = x if isinstance(x, SimArray) else _self.asarray(x)
            if array.dtype.kind == "c" and call.__name__ != "count_nonzero":
                raise TypeError("complex numbers have no order")
            if keywords.get("axis") is not None and not array.ndim:
                raise IndexError("an array without axes")
            found = np.asarray(function(view(array, _Plain), *arguments, **keywords), np.int32)
        except FOREIGN as error:
            raise refused(call, (x, *arguments), keywords, error) from error
        return found.view(type(array))

    return call


def several(function: Callable[..., Any]) -> Callable[..., list[SimArray]]:
    """Makes a function of any number of arrays that returns as many; each is where its argument is."""

    def call(_self: Adopting, *arrays: Operand, **keywords: Setting) -> list[SimArray]:
        try:
            placed = [_self.asarray(array) for array in arrays]
            results = function(*[view(array, _Plain) for array in placed], **keywords)
        except FOREIGN as error:
            raise refused(call, arrays, keywords, error) from error
        return [np.array(one).view(type(like)) for one, like in zip(results, placed, strict=True)]

    return call


def pairing(function: Callable[..., Any]) -> Method:
    """Makes a function of two arrays and settings."""
    widened = wide(function)

    def call(_self: Adopting, x1: Operand, x2: Operand, /, **settings: Setting) -> SimArray:
        try:
            first, second, kind = operands(_self, x1, x2)
            one, other = joined([_host(first, second), _host(second, first)])
            result = widened(one, other, **settings)
        except FOREIGN as error:
            raise refused(call, (x1, x2), settings, error) from error
        return np.asarray(result).view(kind)

    return call


def _host(value: Operand, like: Operand) -> Host:
    """Returns a plain array; a Python number takes the dtype of the array beside it."""
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return np.asarray(value, like.dtype if isinstance(like, (np.ndarray, np.generic)) else None)


def running(function: Callable[..., Any]) -> Method:
    """Makes a cumulative sum or product in the dtype of its input."""

    def along(x: Host, **how: Any) -> Host:
        if x.ndim == 0:
            raise ValueError("an array without axes")
        result: Host = function(x, dtype=x.dtype, **how)
        return result

    return plain(wide(along))
