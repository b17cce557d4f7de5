"""The texts of values in notebooks: form first, then the first elements.  Nothing large is copied or compared."""

from typing import Any, Final

import numpy as np

from simstrategy.short_repr import short_repr

__all__ = ["differs", "value_text"]

_ELEMENTS: Final = 6
_COMPARED_MAX: Final = 1 << 16
"""Bytes: larger arrays are not compared."""


def value_text(value: Any) -> str:
    """Returns dtype, shape and first elements of an array of NumPy or of the simulator; of others `short_repr`.

    >>> value_text(np.arange(8, dtype=np.float32))
    'float32[8] 0.0 1.0 2.0 3.0 4.0 5.0 …'
    """
    if isinstance(value, np.generic | bool | int | float | complex):
        value = np.asarray(value)
    if not isinstance(value, np.ndarray):
        return short_repr(value)
    form = f"{value.dtype.name}[{','.join(map(str, value.shape))}]"
    shown = " ".join(str(one) for one in value.view(np.ndarray).flat[:_ELEMENTS])
    return f"{form} {shown}{' …' if value.size > _ELEMENTS else ''}".rstrip()


def differs(value: Any, first: Any) -> bool:
    """Returns whether two values are known to differ: by form, or in the bits of arrays that are not large."""
    if not isinstance(value, np.ndarray) or not isinstance(first, np.ndarray):
        return value is not first and short_repr(value) != short_repr(first)
    if value.dtype != first.dtype or value.shape != first.shape:
        return True
    return value.nbytes <= _COMPARED_MAX and value.tobytes() != first.tobytes()
