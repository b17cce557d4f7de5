"""What torch passes to the operations of a process group: tensors, and options or a value in their place."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple, TypeAlias

import torch
from torch.distributed import ReduceOp

from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.link import site_of
from simstrategy_torch_distributed.sums import op_name

__all__ = [
    "Given",
    "Options",
    "checked",
    "chunks",
    "listed",
    "options",
    "poison",
    "require",
    "require_member",
    "require_whole_world",
    "split",
    "write",
]

Given: TypeAlias = torch.Tensor | Sequence[torch.Tensor]


class Options(NamedTuple):
    """waits: whether the caller waits at once.  timeout: None for the group's.  root: a member, by its number."""

    waits: bool = False
    timeout: timedelta | None = None
    op: str = "SUM"
    root: int = 0


def options(given: Any, op: Any = None) -> Options:
    """Returns what torch's options say: an object of options, a root or a reduction in its place, or None.

    op: the reduction, beside a root.
    """
    if given is None:
        return Options()
    if isinstance(given, int):
        return Options(root=given, op="SUM" if op is None else op_name(op))
    if isinstance(given, (ReduceOp, ReduceOp.RedOpType)):
        return Options(op=op_name(given))
    fields = dir(given)
    return Options(
        not given.asyncOp,
        given.timeout if given.timeout > timedelta(0) else None,
        op_name(given.reduceOp) if "reduceOp" in fields else "SUM",
        given.rootRank if "rootRank" in fields else 0,
    )


def listed(kind: str, given: Given) -> list[torch.Tensor]:
    """Returns the tensors that an operation was given, one or several, [...].  Raises as `checked` does."""
    tensors = [given] if isinstance(given, torch.Tensor) else list(given)
    return checked(kind, tensors)


def checked(kind: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors, [...].  Raises Unsupported for one that is not dense or not on the CPU."""
    for tensor in tensors:
        if tensor.device.type == "cpu" and tensor.layout == torch.strided:
            continue
        if tensor.device.type != "cpu":
            what = f"a tensor on {tensor.device}; simulated ranks have the CPU alone. Move it: tensor.cpu()"
        else:
            what = f"a tensor of the layout {tensor.layout}. Make it dense: tensor.to_dense()"
        raise Unsupported(f"{kind} at {_place()} got {what}.")
    return tensors


def require(kind: str, what: str, found: int, expected: int) -> None:
    """Raises InvalidArgument where a rank's own arguments do not fit each other.  what: the name of both numbers."""
    if found != expected:
        raise InvalidArgument(f"{kind} at {_place()} got {found} {what}, and {expected} are needed.")


def require_member(kind: str, word: str, peer: int, count: int) -> None:
    """Raises InvalidArgument where a send or receive names a number that no member of its group has."""
    if not 0 <= peer < count:
        raise InvalidArgument(
            f"{kind} {word} rank {peer} at {_place()}: the ranks of the group are 0 to {count - 1}. Pass one of them; "
            f"the neighbours in a ring are (rank + 1) % {count} and (rank - 1) % {count}."
        )


def require_whole_world(number: int, size: int, rank: int, ranks: int) -> None:
    """Raises InvalidArgument where a script joins as another rank, or in another number, than it was started with."""
    if (number, size) != (rank, ranks):
        raise InvalidArgument(
            f"init_process_group at {_place()} got rank={number} and world_size={size} in rank {rank} of {ranks} "
            f"simulated ranks. Leave both out, or pass the numbers in the variables RANK and WORLD_SIZE; the option "
            f"--nproc-per-node sets how many ranks there are."
        )


def chunks(tensor: torch.Tensor, count: int) -> list[torch.Tensor]:
    """Cuts a contiguous tensor, [...], into `count` equal parts, [n]."""
    flat = tensor.data.view(-1)
    return list(flat.view(count, -1).unbind(0)) if tensor.numel() else [flat] * count


def split(tensor: torch.Tensor, sizes: Sequence[int], count: int) -> list[torch.Tensor]:
    """Cuts a contiguous tensor, [rows, ...], into parts of so many rows, or of equal ones where no sizes are given."""
    if not sizes:
        require("all_to_all", "rows that are left over", tensor.shape[0] % count, 0)
        sizes = [tensor.shape[0] // count] * count
    require("all_to_all", "split sizes", len(sizes), count)
    require("all_to_all", "rows in the splits", sum(sizes), tensor.shape[0])
    return list(torch.split(tensor.data, list(sizes)))


def write(tensor: torch.Tensor, elements: torch.Tensor) -> None:
    """Writes elements, [n], to a tensor, [...] of n elements, without autograd's notice, as gloo does."""
    if tensor.numel():
        tensor.data.copy_(elements.view(tensor.shape))


def poison(tensor: torch.Tensor) -> None:
    """Writes NaN, or the least integer, to a tensor, [...], whose result has not been waited for."""
    if tensor.dtype != torch.bool:
        least = torch.nan if tensor.is_floating_point() or tensor.is_complex() else torch.iinfo(tensor.dtype).min
        tensor.data.fill_(least)


def _place() -> str:
    site = site_of(sys._getframe(2))
    return describe_site(site) if site[0] else "a place outside of the script"
