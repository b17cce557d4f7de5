"""Shows the `xp` of one backend to array-api-tests as a module of the Array API standard 2024.12.  It computes nothing.

The environment variable SIMSTRATEGY_ARRAY_API_BACKEND names the backend. The suite passes dtypes as objects, and `xp`
takes names: this module translates. It shows the signatures of the contract, `simstrategy.device.ArrayNamespace`. What
the suite needs for itself and `xp` does not have (dtype objects, constants, `finfo`, `iinfo`, `isdtype`) stands in
this module; the runner leaves out the tests of these.
"""

import inspect
import math
import os
from functools import wraps
from types import SimpleNamespace

import numpy as np

import simstrategy as ss
from simstrategy.device import NAMES, ArrayNamespace

# The suite's own code has float64 and int64 in it, which JAX has in its 64-bit mode alone.
OPTIONS = {"xla": {"x64": True}}
DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu"} | {
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}
__array_api_version__ = "2024.12"
e, inf, nan, pi, newaxis = math.e, math.inf, math.nan, math.pi, None


def _objects(backend):
    """Returns the backend's dtype objects by name, as its arrays carry them."""
    return {name: backend.xp.zeros(1, dtype=name).dtype for name in DTYPES if name in backend.capabilities.dtypes}


def _name(dtype):
    """Returns the name of a dtype object; what is no dtype object stays as it is."""
    return next((name for name, found in _DTYPE_OBJECTS.items() if found is dtype or found == dtype), dtype)


def _shown(name):
    """Returns a function of the namespace that takes dtype objects, with the contract's signature."""
    function = getattr(_BACKEND.xp, name)

    @wraps(function)
    def call(*arguments, **keywords):
        if keywords.get("dtype") is not None:
            keywords["dtype"] = _name(keywords["dtype"])
        if name == "astype":
            arguments = (arguments[0], *map(_name, arguments[1:]))
        return function(*arguments, **keywords)

    contract = inspect.signature(getattr(ArrayNamespace, name))
    call.__signature__ = contract.replace(parameters=list(contract.parameters.values())[1:])
    call.__name__ = name
    return call


def _limits(found, dtype, *names):
    kind = int if found.dtype.kind in "iu" else float
    return SimpleNamespace(
        bits=found.bits, dtype=_DTYPE_OBJECTS[dtype], **{one: kind(found.__getattribute__(one)) for one in names}
    )


def finfo(kind, /):
    """Returns the limits of a floating-point dtype, as NumPy has them."""
    name = _name(getattr(kind, "dtype", kind))
    part = {"complex64": "float32", "complex128": "float64"}.get(name, name)
    return _limits(np.finfo(part), part, "eps", "max", "min", "smallest_normal")


def iinfo(kind, /):
    """Returns the limits of an integer dtype, as NumPy has them."""
    name = _name(getattr(kind, "dtype", kind))
    return _limits(np.iinfo(name), name, "max", "min")


def isdtype(dtype, kind):
    """Tells whether a dtype is of a kind of the standard, is another dtype, or is any of several of these."""
    if isinstance(kind, tuple):
        return True in [isdtype(dtype, one) for one in kind]
    return np.dtype(_name(dtype)).kind in KINDS[kind] if isinstance(kind, str) and kind in KINDS else dtype == kind


def _inspection():
    """Returns the part of the inspection that the suite needs to know places by: the default dtypes."""
    kinds = {"real floating": "float32", "complex floating": "complex64", "integral": "int32", "indexing": "int32"}
    found = {kind: _DTYPE_OBJECTS[name] for kind, name in kinds.items()}
    return SimpleNamespace(default_dtypes=lambda *, device=None: found)


_NAME = os.environ["SIMSTRATEGY_ARRAY_API_BACKEND"]
__array_namespace_info__ = _inspection
_BACKEND = ss.backend(_NAME, **OPTIONS.get(_NAME, {}))
_DTYPE_OBJECTS = _objects(_BACKEND)
globals().update(_DTYPE_OBJECTS)
globals().update({name: _shown(name) for name in NAMES})
