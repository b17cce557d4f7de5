"""Operations on arrays and numbers of different dtypes, and of those that NumPy computes in another one.

NumPy's functions are called with `casting="no"`: they refuse what they would have to cast, and what is here casts by
the rule of all backends, `simstrategy.device.promotion`. So equal dtypes, the usual case, cost nothing.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from simstrategy.device.promotion import common_dtype, float_dtype, kind_of
from simstrategy.device.terms import Operand
from simstrategy.sim.dtypes import dtype_named, dtype_names

__all__ = ["NARROW", "Host", "divided_parts", "in_common", "joined", "masked", "mixed", "name_of", "together"]

Host = np.ndarray[Any, Any]
NARROW: Final = np.dtype(np.float16).num
"""NumPy numbers float16 and bfloat16 from here on, and all other dtypes of ours below."""


def name_of(array: Host | np.generic) -> str:
    """Returns the Array API name of an array's dtype."""
    return dtype_names.get(array.dtype) or array.dtype.name


def mixed(function: Callable[..., Any], values: tuple[Any, ...], *, floats: bool = False) -> Any:
    """Returns function(*values) in the common dtype of arrays [...] and Python numbers; None where that casts nothing.

    bfloat16 is computed in float32 where NumPy has no function of it. floats: whether integers are computed as float32.
    Raises what NumPy raises, and OverflowError for a number that the dtype does not have.
    """
    dtypes = tuple([name_of(one) for one in values if isinstance(one, (np.ndarray, np.generic))])
    wanted = common_dtype(dtypes, tuple([type(one) for one in values if not isinstance(one, (np.ndarray, np.generic))]))
    wanted = float_dtype(wanted) if floats else wanted
    dtype = dtype_named(wanted)
    if dtypes != (wanted,) * len(values):
        return function(*[_cast(one, dtype) for one in values], casting="no", subok=False)
    if wanted != "bfloat16":
        return None
    return np.asarray(function(*[one.astype(np.float32) for one in values], casting="no", subok=False)).astype(dtype)


def _cast(value: Operand, dtype: np.dtype[Any]) -> Host:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value).astype(dtype, copy=False)
    return np.asarray(value, dtype if isinstance(value, int) and kind_of(dtype.name) == 1 else None).astype(dtype)


def masked(function: Callable[..., Host], first: Host, second: Host) -> Host | None:
    """Returns function(first, second) of arrays [...] one of which alone is bool, else None.

    NumPy's rule is that of all backends there, and masks are frequent: no cast has to be made.
    """
    if (first.dtype.num == 0) == (second.dtype.num == 0):
        return None
    return function(first, second, subok=False)


def in_common(*values: Operand) -> list[Any]:
    """Returns arrays [...] and Python numbers as arrays of their common dtype; those of one dtype as they are."""
    names = [name_of(one) for one in values if isinstance(one, (np.ndarray, np.generic))]
    if len(names) == len(values) and len({*names}) == 1:
        return list(values)
    types = [type(one) for one in values if not isinstance(one, (np.ndarray, np.generic))]
    dtype = dtype_named(common_dtype(tuple(names), tuple(types)))
    return [_cast(one, dtype) for one in values]


def together(values: list[Any]) -> list[Any]:
    """Returns arrays [...] and Python numbers as `in_common` does; numbers alone as they are."""
    return in_common(*values) if any(isinstance(one, (np.ndarray, np.generic)) for one in values) else values


def joined(arrays: list[Host]) -> list[Host]:
    """Returns arrays [...] in their common dtype."""
    first = arrays[0].dtype if arrays else None
    if all(one.dtype is first for one in arrays):
        return arrays
    dtype = dtype_named(common_dtype(tuple(map(name_of, arrays))))
    return [one.astype(dtype, copy=False) for one in arrays]


def divided_parts(x1: Host, x2: Operand) -> Host:
    """Returns a complex array [...] over real numbers [...], each part divided separately, in the common dtype."""
    others = (name_of(x2),) if isinstance(x2, (np.ndarray, np.generic)) else ()
    top = np.asarray(x1).astype(dtype_named(common_dtype((name_of(x1), *others))), copy=False)
    bottom = np.asarray(x2, top.real.dtype)
    result = np.empty(np.broadcast_shapes(top.shape, bottom.shape), top.dtype)
    result.real, result.imag = np.divide(top.real, bottom), np.divide(top.imag, bottom)
    return result
