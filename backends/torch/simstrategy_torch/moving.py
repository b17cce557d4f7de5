"""Functions that pick and move elements, where PyTorch does otherwise than the standard."""

from typing import Any

import torch

from simstrategy.device import require_shifts
from simstrategy.errors import InvalidType
from simstrategy_torch.functions import compat
from simstrategy_torch.promotion import kind_of, tensor

__all__ = ["roll", "searchsorted", "squeeze", "take", "take_along_axis"]

_Tensor = torch.Tensor


def squeeze(x: _Tensor, axis: int | tuple[int, ...]) -> _Tensor:
    """Removes axes of size 1.  Raises ValueError for others, which PyTorch would leave as they are."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(x.shape[one] != 1 for one in axes):
        raise ValueError("only axes of size 1 can go")
    return torch.squeeze(x, axes)


def _places(x: _Tensor, indices: Any) -> _Tensor:
    places = tensor(str(x.device), indices)
    if kind_of(places.dtype) != 1:
        raise InvalidType(f"take got {places.dtype} as indices: cast them to int32 or int64 first.")
    return places.to(torch.int64)


def _require_within(places: _Tensor, size: int) -> None:
    """Raises IndexError for an index beyond the ends of an axis of this size."""
    if bool(((places < -size) | (places >= size)).any()):
        raise IndexError(f"there is an index beyond the ends, for a size of {size}")


def take(x: _Tensor, indices: Any, *, axis: int) -> _Tensor:
    """Counts from the end where an index is negative; beyond the ends PyTorch raises IndexError on a CPU.

    A GPU reports it later, and computes nothing any more in this process: there it is looked for first.
    """
    places = _places(x, indices)
    if not -x.ndim <= axis < x.ndim:
        raise IndexError(f"there is no axis {axis}")
    axis %= x.ndim
    if x.is_cuda:
        _require_within(places, x.shape[axis])
    flat = places.reshape(-1)
    chosen = torch.index_select(x, axis, torch.where(flat < 0, flat + x.shape[axis], flat))
    return chosen.reshape(*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])


def take_along_axis(x: _Tensor, indices: Any, *, axis: int = -1) -> _Tensor:
    """Counts from the end where an index is negative.  Raises IndexError beyond the ends, where PyTorch goes on."""
    places = _places(x, indices)
    _require_within(places, x.shape[axis])
    result: _Tensor = compat.take_along_axis(x, places, axis=axis)
    return result


def searchsorted(x1: _Tensor, x2: _Tensor, *, side: str = "left", sorter: Any = None) -> _Tensor:
    """Finds places in x1; the sorter is applied first, because PyTorch takes it as int64 alone."""
    if x1.is_complex() or x1.dtype is torch.bool:
        raise TypeError("real numbers alone")
    if x1.ndim != 1:
        raise ValueError("one vector")
    ordered = x1 if sorter is None else take(x1, sorter, axis=0)
    return torch.searchsorted(ordered, x2.contiguous(), side=side, out_int32=True)


def roll(x: _Tensor, shift: Any, *, axis: Any = None) -> _Tensor:
    """Rolls; one shift is for all axes. PyTorch does not look at the axes of an empty array."""
    require_shifts(shift, axis)
    axes = axis if isinstance(axis, tuple) else () if axis is None else (axis,)
    for one in axes:
        x.size(one)
    if axis == ():
        return x
    return torch.roll(x, shift if isinstance(shift, tuple) else (shift,) * (len(axes) or 1), axis)
