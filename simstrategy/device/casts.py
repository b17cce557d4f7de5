"""Casts of host arrays to another dtype, as `astype` defines them on every backend.  No promotion is here.

Machines differ in what they make of a float that an integer dtype does not hold, so that is defined: the nearest number
of the dtype, and 0 for NaN. Clauses: B-18
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

__all__ = ["cast"]

Host = np.ndarray[Any, Any]
_smallest: Final[Callable[..., Any]] = np.minimum.reduce
_largest: Final[Callable[..., Any]] = np.maximum.reduce


def cast(array: Host, dtype: "np.dtype[Any]") -> Host:
    """Returns a copy of an array […] in another dtype; the class of the array stays.

    Floats are cut off towards 0 for integers. Integers beyond the range of an integer dtype wrap.

    >>> cast(np.array([-3.7, 1e10, np.nan]), np.dtype("int8")).tolist()
    [-3, 127, 0]
    """
    if dtype.kind not in "iu" or array.dtype.kind in "biu":
        return array.astype(dtype)
    real = array.real if array.dtype.kind == "c" else array
    if not real.size:
        return real.astype(dtype)
    bounds = np.iinfo(dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        low, high = float(_smallest(real, axis=None)), float(_largest(real, axis=None))
        if bounds.min <= low and high < bounds.max:  # NaN is neither
            return real.astype(dtype)
        found = real.astype(dtype)
        np.copyto(found, bounds.max, where=np.asarray(real >= float(bounds.max)))
        np.copyto(found, bounds.min, where=np.asarray(real <= float(bounds.min)))
        np.copyto(found, 0, where=np.asarray(np.isnan(real)))
    return found
