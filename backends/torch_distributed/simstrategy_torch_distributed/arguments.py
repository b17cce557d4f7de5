"""What torch passes to the operations of a process group: tensors, options, or a value in their place."""

import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import torch
from torch.distributed import ReduceOp

from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.joined import UNSET
from simstrategy_torch_distributed.link import site_of
from simstrategy_torch_distributed.sums import op_name

__all__ = ["Given", "checked", "listed", "operation", "require", "root", "timeout", "waits", "write"]

Given: TypeAlias = torch.Tensor | Sequence[torch.Tensor]


def listed(kind: str, given: Given) -> list[torch.Tensor]:
    """Returns the tensors that an operation was given, one or several.  Raises as `checked` does."""
    tensors = [given] if isinstance(given, torch.Tensor) else list(given)
    return checked(kind, tensors)


def checked(kind: str, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Returns the tensors.  Raises Unsupported for one that is not dense or not on the CPU."""
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


def write(tensor: torch.Tensor, elements: torch.Tensor) -> None:
    """Writes elements, [n], to a tensor, [...] of n elements, without autograd's notice, as libraries below torch do."""
    if tensor.numel():
        tensor.data.copy_(elements.view(tensor.shape))


def operation(options: Any) -> str:
    """Returns the name of the reduction in options, or of one given in their place; SUM where there is none."""
    if options is None:
        return "SUM"
    return op_name(options if isinstance(options, (ReduceOp, ReduceOp.RedOpType)) else options.reduceOp)


def root(options: Any) -> int:
    """Returns the root in options, or one given in their place; 0 where there is none."""
    if options is None:
        return 0
    return int(options if isinstance(options, int) else options.rootRank)


def waits(options: Any) -> bool:
    """Returns whether the caller waits at once."""
    return _has_fields(options) and not options.asyncOp


def timeout(options: Any) -> timedelta:
    """Returns the timeout in options; negative where there is none."""
    return options.timeout if _has_fields(options) else UNSET


def _has_fields(options: Any) -> bool:
    return options is not None and not isinstance(options, (ReduceOp, ReduceOp.RedOpType, int))


def _place() -> str:
    site = site_of(sys._getframe(2))
    return describe_site(site) if site[0] else "a place outside of the script"
