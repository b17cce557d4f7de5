"""Tensors of host data and Python numbers, and of several dtypes: the rule is `simstrategy.device.promotion`'s.

No arithmetic is here.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from simstrategy.device import cast, host_array, numeric_array
from simstrategy.device.promotion import common_dtype
from simstrategy_torch.arrays import host_dtype, name_of, named

__all__ = ["in_more_bits", "kind_of", "promoted", "tensor", "to_dtype"]

_Tensor = torch.Tensor
_WEAK: Final = (bool, int, float, complex)


def tensor(place: str, value: Any, dtype: torch.dtype | None = None) -> _Tensor:
    """Returns a tensor of any data.  Python numbers and lists get a default dtype, other data keep theirs.

    place: the device of what is made of host data; a tensor stays where it is.
    """
    if isinstance(value, _Tensor):
        return value if dtype in (None, value.dtype) else value.to(dtype)
    made = _host_tensor(value, dtype)
    return made if place == "cpu" else made.to(place)


def _host_tensor(value: Any, dtype: torch.dtype | None) -> _Tensor:
    if type(value) is not np.ndarray:
        # A dtype is a cast on purpose, as for the truth values of `where`.
        call = "xp.asarray"
        value = host_array(value, where=call) if dtype is None else numeric_array(value, where=call)
    wanted = dtype or named(value.dtype)
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(value, copy=True).view(np.int16)).view(torch.bfloat16).to(wanted)
    host = host_dtype(wanted)
    if wanted is torch.bfloat16 or host is None:
        return torch.from_numpy(np.array(value, np.float32)).to(wanted)
    if wanted.is_floating_point or wanted.is_complex or value.dtype.kind in "biu":
        return torch.from_numpy(np.array(value, host, order="C", copy=True, subok=False))
    return torch.from_numpy(np.array(cast(value, np.dtype(host)), order="C", copy=True, subok=False))


def to_dtype(x: _Tensor, dtype: torch.dtype) -> _Tensor:
    """Returns a copy of x […] in a dtype, by the rule of `simstrategy.device.cast`: PyTorch's devices differ."""
    if kind_of(dtype) != 1 or kind_of(x.dtype) < 2:
        return x.to(dtype, copy=True)
    real = x.real if x.is_complex() else x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    bounds = torch.iinfo(dtype)
    within = torch.where(real < float(bounds.max), real.to(dtype), bounds.max)
    within = torch.where(real <= float(bounds.min), bounds.min, within)
    return torch.where(torch.isnan(real), 0, within).to(dtype)


def _is_weak(value: Any) -> bool:
    return isinstance(value, _WEAK) and not isinstance(value, np.generic)


def kind_of(dtype: torch.dtype) -> int:
    """Returns where a dtype stands among Python's bool, int, float and complex."""
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype is torch.bool else 1


def promoted(place: str, *values: Any, floats: bool = False) -> list[_Tensor]:
    """Returns tensors of one dtype, see `simstrategy.device.promotion`.  floats: float32 in place of integers."""
    if all(_is_weak(value) for value in values):
        values = (tensor(place, values[0]), *values[1:])
    data = [value if _is_weak(value) else tensor(place, value) for value in values]
    dtypes = [value.dtype for value in data if not _is_weak(value)]
    weak = [value for value in data if _is_weak(value)]
    dtype = dtypes[0]
    if any(one != dtype for one in dtypes) or any(not isinstance(one, _WEAK[: kind_of(dtype) + 1]) for one in weak):
        dtype = named(common_dtype(tuple(map(name_of, dtypes)), tuple(map(type, weak))))
    if floats and kind_of(dtype) < 2:
        dtype = torch.float32
    return [_scalar(place, one, dtype) if _is_weak(one) else tensor(place, one, dtype) for one in data]


def _scalar(place: str, number: Any, dtype: torch.dtype) -> _Tensor:
    """Returns a Python number in a dtype.  Raises OverflowError where the dtype has no such number."""
    return tensor(place, number if dtype is torch.bfloat16 else np.asarray(number, host_dtype(dtype)), dtype)


def in_more_bits(function: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a product, or a cumulative one or sum, that computes float16 and bfloat16 in float32, rounded once."""

    def call(x: _Tensor, **settings: Any) -> _Tensor:
        if x.dtype not in (torch.float16, torch.bfloat16):
            kept: _Tensor = function(x, dtype=x.dtype, **settings)
            return kept
        wide: _Tensor = function(x.to(torch.float32), dtype=torch.float32, **settings)
        return wide.to(x.dtype)

    return call
