"""Moves tensors by one unit in the last place, in patterns, to measure how far rounding moves a script's results."""

import math
from collections.abc import Sequence

import numpy as np
import torch

from simstrategy.device.perturbed import moved_sums, perturb
from simstrategy_torch_distributed.watched.parts import local_of

__all__ = ["moved", "nudge", "nudge_sums"]


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

    They are small beside the largest element; beside the largest one of all where a rank has a part of each.
    """
    exact = (torch.float32, torch.float64)
    pairs = [(one, local_of(one)) for one in tensors]
    hosts = [(one, local) for one, local in pairs if local.layout == torch.strided]
    sizes = [float(local.abs().max()) for _, local in hosts if local.dtype in exact and local.numel()]
    finite = [size for size in sizes if math.isfinite(size)]
    for tensor, local in hosts:
        if local.dtype in exact and local.numel():
            largest = None if local.shape == tensor.shape else max(finite, default=0.0)
            host = moved_sums(local.cpu().contiguous().numpy(), pattern, largest=largest)
            with torch.no_grad():
                local.copy_(torch.from_numpy(host))
        else:
            nudge(tensor, pattern)


def _moved(tensor: torch.Tensor, pattern: int) -> torch.Tensor:
    if tensor.dtype in (torch.float16, torch.float32, torch.float64):
        return torch.from_numpy(perturb(tensor.cpu().contiguous().numpy(), pattern))
    up = torch.from_numpy(perturb(np.ones(tuple(tensor.shape), np.float32), pattern)) > 1
    unit = 0.6 * torch.finfo(tensor.dtype).eps  # is rounded to one ulp, wherever between two powers of 2 a number is
    return torch.where(up, tensor.float() * (1 + unit), tensor.float() * (1 - unit)).to(tensor.dtype)
