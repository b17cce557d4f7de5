"""The simulator's dtypes: NumPy's, by their names in the Array API standard.  bfloat16 comes with an extra."""

from typing import Any, Final

import numpy as np

from simstrategy.device import canonical_dtype
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["DTYPES", "dtype_named", "dtype_names"]

Dtype = np.dtype[Any]

_NAMES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def _bfloat16() -> Dtype | None:
    """bfloat16 comes with the extra `bfloat16`: NumPy alone has none."""
    try:
        import ml_dtypes  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    found: Dtype = np.dtype(ml_dtypes.bfloat16)
    return found


DTYPES: Final[dict[str, Dtype]] = {name: np.dtype(name) for name in _NAMES}
dtype_names: Final[dict[Dtype, str]] = {dtype: name for name, dtype in DTYPES.items()}


def dtype_named(dtype: str | Dtype | type[np.generic]) -> Dtype:
    """Returns NumPy's dtype for a name; the package of bfloat16 is imported at its first use."""
    name = canonical_dtype(dtype)
    if name == "bfloat16" and name not in DTYPES:
        found = _bfloat16()
        if found is None:
            raise InvalidArgument("bfloat16 needs the package ml_dtypes: pip install 'simstrategy[bfloat16]'.")
        DTYPES[name], dtype_names[found] = found, name
    if name not in DTYPES:
        raise InvalidArgument(f"There is no dtype {short_repr(name)}; choose from {', '.join(_NAMES)}, bfloat16.")
    return DTYPES[name]
