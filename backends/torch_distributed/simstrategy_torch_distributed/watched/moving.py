"""Moves tensors by one unit in the last place, in patterns, to measure how far rounding moves a script's results."""

import numpy as np
import torch

from simstrategy.device.perturbed import perturb
from simstrategy_torch_distributed.watched.parts import local_of

__all__ = ["moved", "nudge"]


def moved(tensor: torch.Tensor, pattern: int) -> torch.Tensor:
    """Returns a tensor […] of floats with each element moved by an ulp, in the given one's graph; others as it is."""
    if not tensor.dtype.is_floating_point or tensor.layout != torch.strided or not tensor.numel():
        return tensor
    with torch.no_grad():
        change = _moved(tensor.detach(), pattern) - tensor.detach()
        change = torch.where(torch.isfinite(change), change, torch.zeros_like(change))
    return tensor + change


def nudge(tensor: torch.Tensor, pattern: int, *, sums: bool = False) -> None:
    """Moves the elements of a tensor […] in place; of a DTensor those of this rank.  sums: as for `perturb`."""
    local = local_of(tensor)
    if local.dtype.is_floating_point and local.layout == torch.strided and local.numel():
        with torch.no_grad():
            local.copy_(_moved(local, pattern, sums=sums))


def _moved(tensor: torch.Tensor, pattern: int, *, sums: bool = False) -> torch.Tensor:
    if tensor.dtype in (torch.float16, torch.float32, torch.float64):
        return torch.from_numpy(perturb(tensor.cpu().contiguous().numpy(), pattern, sums=sums))
    up = torch.from_numpy(perturb(np.ones(tuple(tensor.shape), np.float32), pattern)) > 1
    unit = 0.6 * torch.finfo(tensor.dtype).eps  # is rounded to one ulp, wherever between two powers of 2 a number is
    return torch.where(up, tensor.float() * (1 + unit), tensor.float() * (1 - unit)).to(tensor.dtype)
