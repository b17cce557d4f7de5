"""The array functions that every backend provides: names and meaning of the Array API standard 2024.12.

Rules of ours, so that all frameworks can agree:

* dtypes are given and returned by name ("float32");
* the default dtypes are float32, int32, bool and complex64;
* `sum`, `prod`, `cumulative_sum` and `cumulative_prod` keep the dtype of their input and take no `dtype`;
  places and counts (`argmax`, `argmin`, `argsort`, `searchsorted`, `count_nonzero`) are int32;
* `divide` and `reciprocal` are correctly rounded, of a complex array by real numbers in each part;
* arrays of one kind promote as in NumPy, of different kinds the higher one keeps its dtype: int32 and float32 are
  float32 (`simstrategy.device.promotion`);
* `divide`, `mean`, `sqrt`, `exp` and their like compute integers and bool as float32;
* sums, products and means along axes of more than three numbers of float16 or bfloat16 are computed in float32 or with
  as many bits, and rounded once;
* a mistake in a call raises InvalidType or InvalidArgument (`simstrategy.device.refusals`).

No function takes `device`, `copy` or `out`:
an array is created where the running replica is, and a function computes where its arguments are.

Left out of the standard: `unique_*` and `nonzero`, whose shapes depend on values, which a compiled step does not have;
`empty` and `empty_like`, whose content is chance; `from_dlpack` and `__array_namespace_info__`, because arrays enter
by `Backend.put` and the capabilities list the dtypes; `can_cast`, `finfo`, `iinfo`, `isdtype` and `result_type`, which
are about dtype objects: NumPy has them for names; the extensions `linalg` and `fft`, which the standard leaves to
libraries, and whose decompositions differ between them by signs.
"""

from typing import Any, Protocol

import numpy as np

from simstrategy.device.functions import Creation, Elementwise, Operators, Reductions, Searching, Shapes
from simstrategy.device.terms import Array
from simstrategy.short_repr import short_repr

__all__ = ["NAMES", "Array", "ArrayNamespace", "canonical_dtype", "default_dtype"]


class ArrayNamespace(Creation, Operators, Elementwise, Shapes, Reductions, Searching, Protocol):
    """Functions on arrays of one backend.  Host data and Python numbers are adopted where arrays are expected.

    Each function's shapes, dtypes, errors and deviations are stated in `simstrategy.device.functions`.
    """


NAMES: tuple[str, ...] = tuple(
    name
    for part in (Creation, Operators, Elementwise, Shapes, Reductions, Searching)
    for name in vars(part)
    if not name.startswith("_")
)
"""Every function of the namespace, by subject."""


def canonical_dtype(dtype: str | np.dtype[Any] | type[np.generic]) -> str:
    """Returns the Array API name of a dtype given by name or as a NumPy dtype or scalar type."""
    if isinstance(dtype, str):
        return dtype
    found = dtype.__name__ if isinstance(dtype, type) else getattr(dtype, "name", dtype)
    return found if isinstance(found, str) else short_repr(found)


def default_dtype(kind: str) -> str | None:
    """Returns the dtype that Python numbers of a NumPy kind get: None for host arrays' own kinds."""
    return {"b": "bool", "i": "int32", "u": "int32", "f": "float32", "c": "complex64"}.get(kind)
