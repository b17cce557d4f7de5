"""The dtype in which several arrays and numbers are computed: one rule for all backends, over names.

Arrays of one kind (bool, integers, floats, complex) promote as in NumPy. Of different kinds the higher one wins with
its own dtype: int32 and float32 are float32, because not every backend has float64. A Python number takes the dtype of
the array; one of a higher kind has its default dtype first. Clauses: B-21
"""

from functools import lru_cache
from typing import Final

import numpy as np

from simstrategy.device.namespace import default_dtype

__all__ = ["common_dtype", "float_dtype", "kind_of"]

_KINDS: Final = {"b": 0, "i": 1, "u": 1, "f": 2, "c": 3}
_NUMBERS: Final[dict[type, int]] = {bool: 0, int: 1, float: 2, complex: 3}
_DEFAULTS: Final = ("bool", "int32", "float32", "complex64")


def kind_of(dtype: str) -> int:
    """Returns the place of a dtype's kind among bool, integers, floats and complex numbers, from 0; 4 for others."""
    return 2 if dtype == "bfloat16" else _KINDS.get(np.dtype(dtype).kind, len(_KINDS))


@lru_cache(maxsize=1024)
def common_dtype(dtypes: tuple[str, ...], numbers: tuple[type, ...] = ()) -> str:
    """Returns the dtype that arrays of some dtypes promote to beside numbers of some types of Python.

    dtypes: at least one.
    """
    high = max(map(kind_of, dtypes))
    same = [dtype for dtype in dtypes if kind_of(dtype) == high]
    if high == 3:
        # A float has the width of a complex number's parts.
        same += ["complex128" for dtype in dtypes if dtype == "float64"]
    found = _of_one_kind(same)
    number = max((_NUMBERS[one] for one in numbers), default=0)
    if number <= high:
        return found
    return "complex128" if number == 3 and "float64" in dtypes else _DEFAULTS[number]


def _of_one_kind(dtypes: list[str]) -> str:
    plain = [dtype for dtype in dtypes if dtype != "bfloat16"]
    if not plain:
        return "bfloat16"
    if len(plain) < len(dtypes):
        plain.append("float32")  # the smallest that has the numbers of bfloat16 and of another float
    return np.result_type(*plain).name


def float_dtype(dtype: str) -> str:
    """Returns the dtype in which a function of floats computes: float32 for integers and bool, else the array's."""
    return dtype if kind_of(dtype) > 1 else default_dtype("f") or dtype
