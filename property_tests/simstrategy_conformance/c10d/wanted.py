"""What a call of `torch.distributed` has to give, from NumPy alone: the oracle of the clauses W.

Arrays are those of `inputs`, one for each member of a group, in the order of their ranks there.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

import numpy as np

__all__ = ["COMBINE", "average", "average_bound", "combined", "sum_bound"]

Host = np.ndarray[Any, Any]

COMBINE: Final[dict[str, Any]] = {
    "SUM": np.add,
    "PRODUCT": np.multiply,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "BAND": np.bitwise_and,
    "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor,
}
_EPSILON: Final = {"bfloat16": 2.0**-7}
"""The distance from 1 to the next number, of dtypes that NumPy has not."""


def combined(arrays: Sequence[Host], op: str) -> Host:
    """Combines arrays, [...] one for each member, by a name of `torch.distributed.ReduceOp`.

    >>> combined([np.array([3, 5]), np.array([6, 1])], "BAND")
    array([2, 1])
    """
    with np.errstate(all="ignore"):
        return np.asarray(reduce(COMBINE[op], arrays), arrays[0].dtype)


def average(arrays: Sequence[Host]) -> Host:
    """Returns the mean, [...] as float64 or complex128, of arrays whose sums are exact."""
    wide = np.complex128 if arrays[0].dtype.kind == "c" else np.float64
    return np.asarray(sum(np.asarray(array, wide) for array in arrays)) / len(arrays)


def average_bound(arrays: Sequence[Host], dtype: str) -> Host:
    """Returns how far a part of a mean, [...] float64, may be from the exact one.

    A backend may divide before it adds or after, or multiply by a rounded 1/N: at most N + 1 roundings.
    """
    return _bound(arrays, dtype, len(arrays) + 1) / len(arrays)


def sum_bound(arrays: Sequence[Host], dtype: str) -> Host:
    """Returns how far a part of a sum, [...] float64, may be from the exact one, whatever the order of additions."""
    return _bound(arrays, dtype, len(arrays) - 1)


def _bound(arrays: Sequence[Host], dtype: str, roundings: int) -> Host:
    """Returns n u / (1 - n u) of the sum of magnitudes, for n roundings of at most u each.

    u is half the distance from 1 to the next number. Source: N. J. Higham, Accuracy and Stability of Numerical
    Algorithms, 2nd edition, section 4.2.
    """
    unit = roundings * (_EPSILON.get(dtype) or float(np.finfo(arrays[0].dtype).eps)) / 2
    sizes = np.sum([np.abs(np.asarray(array, np.result_type(array, np.float64))) for array in arrays], axis=0)
    return np.asarray(unit / (1 - unit) * sizes)
