"""Dtypes of floats that are narrower than float32, and floats that are moved by units of these.

Where a program computes in such a dtype and keeps its values in a wider one, what rounds are the results in the narrow
one: a unit in the last place of the wider one is lost in the cast, and measures nothing.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

import numpy as np

from simstrategy.device.perturbed import perturb

__all__ = ["NARROW", "coarsest", "perturb_as"]


class _Form(NamedTuple):
    """unit: one unit in the last place of 1.  least: the smallest number above zero."""

    unit: float
    least: float


_FORMS: Final = {"bfloat16": _Form(2.0**-7, 2.0**-133), "float16": _Form(2.0**-10, 2.0**-24)}

NARROW: Final = tuple(_FORMS)
"""Names of the dtypes, that with the largest units first."""


def coarsest(names: Collection[str]) -> str | None:
    """Returns the one of several dtypes that has the largest units, None where none is narrow.

    >>> coarsest({"float32", "float16", "bfloat16"}), coarsest({"float32"})
    ('bfloat16', None)
    """
    return next((name for name in NARROW if name in names), None)


def perturb_as(value: np.ndarray, pattern: int, dtype: str) -> np.ndarray:
    """Returns an array […] of float32 or float64 as `perturb` does, moved by units of a narrower dtype.

    Zeros, infinities and NaN stay, and so do arrays of other dtypes. dtype: a name of `NARROW`.

    >>> perturb_as(np.array([1.0, 3.0, 0.0]), 1, "bfloat16") - [1.0, 3.0, 0.0]
    array([-0.0078125,  0.015625 ,  0.       ])
    """
    if value.dtype.name not in ("float32", "float64"):
        return value
    form = _FORMS[dtype]
    finite = np.where(np.isfinite(value), value, 0)
    units = np.maximum(np.ldexp(form.unit, np.frexp(finite)[1] - 1), form.least)
    ways = np.where(perturb(np.ones(value.shape), pattern) > 1, units, -units)
    return np.asarray(np.where(finite != 0, finite + ways, value), value.dtype)
