"""The sum of sparse tensors over a group, as DDP makes it for embeddings with sparse gradients."""

from collections.abc import Sequence
from typing import Final

import torch
from torch.distributed import Work

from simstrategy.errors import Unsupported
from simstrategy_torch_distributed.arguments import Options
from simstrategy_torch_distributed.joined import Joined, Read

__all__ = ["only_sparse", "reduce_sparse"]

_COUNT: Final = torch.zeros(1, dtype=torch.int64)


def only_sparse(given: torch.Tensor | Sequence[torch.Tensor]) -> torch.Tensor | None:
    """Returns the tensor that was given, [...], alone or in a list of one, if it is sparse (COO); else None."""
    tensors = [given] if isinstance(given, torch.Tensor) else list(given)
    return tensors[0] if len(tensors) == 1 and tensors[0].layout == torch.sparse_coo else None


def reduce_sparse(group: Joined, tensor: torch.Tensor, opts: Options) -> Work:
    """Adds the members' sparse tensors, [...] of equal shape, into this one; members may have different elements.

    Equal places are added in the order of ranks. Raises Unsupported for another operation than SUM.
    """
    if opts.op != "SUM":
        raise Unsupported(f"Sparse tensors are summed alone, got {opts.op}. Make the tensor dense: tensor.to_dense().")
    own = tensor.detach().coalesce()
    indices, values = own.indices(), own.values()

    def use(read: Read) -> None:
        found = []
        for member in range(len(group.members)):
            count = int(read(member, 0, _COUNT))
            places = read(member, 1, indices.new_empty(len(indices), count)).view(len(indices), count)
            added = read(member, 2, values.new_empty(count, *values.shape[1:])).view(count, *values.shape[1:])
            found.append((places, added))
        total = torch.sparse_coo_tensor(
            torch.cat([places for places, _ in found], 1),
            torch.cat([added for _, added in found]),
            tensor.shape,
            check_invariants=False,
        )
        with torch.no_grad():
            tensor.copy_(total.coalesce())

    places = group.put([torch.tensor([values.shape[0]]), indices, values])
    return group.request(
        "all_reduce",
        [tensor],
        opts,
        op=opts.op,
        subject="sparse",
        leaves=[tensor],
        places=places,
        finish=group.reading(None, use),
    )
