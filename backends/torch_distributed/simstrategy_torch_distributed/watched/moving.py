"""Moves tensors by one unit in the last place, in patterns, to measure how far rounding moves a script's results."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import torch

from simstrategy.device.perturbed import largest_of, moved_sums, perturb
from simstrategy_torch_distributed.watched.parts import local_of

__all__ = ["moved", "nudge", "nudge_sums"]

_EXACT: Final = (torch.float32, torch.float64)
"""Of a narrower dtype a few units in the last place are no small part."""


def moved(tensor: torch.Tensor, pattern: int) -> torch.Tensor:
    """Returns a tensor […] of floats with each element moved by an ulp, in the given one's graph; others as it is."""
    if not tensor.dtype.is_floating_point or tensor.layout != torch.strided or not tensor.numel():
        return tensor
    with torch.no_grad():
        change = _moved(tensor.detach(), pattern) - tensor.detach()
        change = torch.where(torch.isfinite(change), change, torch.zeros_like(change))
    return tensor + change


def nudge(tensor: torch.Tensor, pattern: int) -> None:
    """Moves the elements of a tensor […] in place; of a DTensor those of this rank."""
    local = local_of(tensor)
    if local.dtype.is_floating_point and local.layout == torch.strided and local.numel():
        with torch.no_grad():
            local.copy_(_moved(local, pattern))


def nudge_sums(tensors: Sequence[torch.Tensor], pattern: int) -> None:
    """Moves the elements of sums, [...] each, in place, also those that rounding has left of terms that cancel.

    They are small beside the largest element. Where all elements of a sum are, they are beside the largest one of all
    sums that ranks have whole, which is the same on each rank; where a rank has a part of a sum, beside all of its own.
    """
    exact = []
    for tensor in tensors:
        local = local_of(tensor)
        if local.dtype in _EXACT and local.layout == torch.strided and local.numel():
            exact.append((local, local.cpu().contiguous().numpy(), local.shape != tensor.shape))
        else:
            nudge(tensor, pattern)
    of_all = max([largest_of(host) for _, host, _ in exact], default=0.0)
    whole = max([largest_of(host) for _, host, is_part in exact if not is_part], default=0.0)
    for local, host, is_part in exact:
        moved_host = moved_sums(host, pattern, largest=of_all if is_part else None, beside=whole)
        with torch.no_grad():
            local.copy_(torch.from_numpy(moved_host))


def _moved(tensor: torch.Tensor, pattern: int) -> torch.Tensor:
    if tensor.dtype in (torch.float16, torch.float32, torch.float64):
        return torch.from_numpy(perturb(tensor.cpu().contiguous().numpy(), pattern))
    up = torch.from_numpy(perturb(np.ones(tuple(tensor.shape), np.float32), pattern)) > 1
    unit = 0.6 * torch.finfo(tensor.dtype).eps  # is rounded to one ulp, wherever between two powers of 2 a number is
    return torch.where(up, tensor.float() * (1 + unit), tensor.float() * (1 - unit)).to(tensor.dtype)
