"""A tensor of a rank as an array, and where it belongs in the whole one, if the ranks have shards of it."""

import sys
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import torch

__all__ = ["Part", "copy_of", "is_readable", "local_of", "part_of"]


_LIBRARY: Final = "torch.distributed.tensor"
"""The module of DTensor: where it is not imported, no tensor is one."""


class Part(NamedTuple):
    """array: what the rank holds, […].  form: its dtype in torch, the whole shape and where the array begins in it.

    The form has a reason under "left" where the place is not known.
    """

    array: np.ndarray[Any, Any]
    form: dict[str, Any]


def part_of(tensor: torch.Tensor) -> Part:
    """Returns a rank's part of a tensor […], which is the whole one unless it is a DTensor."""
    form: dict[str, Any] = {"dtype": str(tensor.dtype).removeprefix("torch."), "shape": list(tensor.shape)}
    library = sys.modules.get(_LIBRARY)
    if library is not None and isinstance(tensor, library.DTensor):
        offset = _offset(tensor, library)
        form |= {"left": f"its placements are {tensor.placements}"} if offset is None else {"offset": offset}
    local = local_of(tensor)
    if local.layout != torch.strided:
        local = local.to_dense()
    if local.dtype.is_floating_point and local.dtype not in (torch.float32, torch.float64, torch.float16):
        local = local.float()
    return Part(local.cpu().contiguous().numpy(), form)


def copy_of(tensor: torch.Tensor) -> Part:
    """Returns a copy of a rank's part of a tensor […], which later writes do not reach."""
    part = part_of(tensor)
    return Part(part.array.copy(), part.form)


def is_readable(tensor: torch.Tensor) -> bool:
    """Returns whether a tensor […] has elements: under `vmap`, `grad` and their like it stands for those of others."""
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)  # noqa: SLF001 - torch has no public name for it


def local_of(tensor: torch.Tensor) -> torch.Tensor:
    """Returns what this rank holds of a tensor […], without its graph; writes to it reach the tensor."""
    library = sys.modules.get(_LIBRARY)
    local = tensor.detach()
    if library is not None and isinstance(local, library.DTensor):
        found: torch.Tensor = local.to_local()
        return found
    return local


def _offset(tensor: Any, library: Any) -> list[int] | None:
    """Returns where the local part of a DTensor begins; None for placements other than shards and replicas."""
    offset, sizes = [0] * tensor.ndim, list(tensor.shape)
    coordinate: Sequence[int] | None = tensor.device_mesh.get_coordinate()
    if coordinate is None:
        return None
    for place, number, count in zip(tensor.placements, coordinate, tensor.device_mesh.shape, strict=True):
        if type(place) is library.Shard:
            chunk = -(-sizes[place.dim] // count)
            start = min(chunk * number, sizes[place.dim])
            offset[place.dim] += start
            sizes[place.dim] = min(chunk, sizes[place.dim] - start)
        elif type(place) is not library.Replicate:
            return None
    return offset
