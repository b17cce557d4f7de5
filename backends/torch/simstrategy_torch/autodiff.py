"""Makes the functions of the core differentiable, to any order.

Linear functions only, as collectives are: the gradient of `backward` is `forward`. `backward` runs in the
thread that computes the gradient, which is the replica's task, so it may suspend there (see `placement.On`).
"""

from typing import Any, final

import torch

from simstrategy.device import GroupFunction

__all__ = ["TorchAutodiff"]

Arrays = tuple[torch.Tensor, ...]


class _Linear(torch.autograd.Function):
    """The pair of functions in the form that PyTorch requires: a subclass with these two names."""

    @staticmethod
    def forward(
        ctx: Any, forward: GroupFunction[torch.Tensor], backward: GroupFunction[torch.Tensor], *arrays: torch.Tensor
    ) -> Arrays:
        # Detached: the group-call computes with them in another thread, whose gradient mode may be on.
        results = forward(tuple([array.detach() for array in arrays]))
        ctx.functions = forward, backward
        ctx.chosen = [_has_gradient(array) for array in arrays]
        others = [result for result, chosen in zip(results, ctx.chosen, strict=True) if not chosen]
        ctx.others = [(result.shape, result.dtype, result.device) for result in others]
        ctx.mark_non_differentiable(*others)
        return results

    @staticmethod
    def backward(ctx: Any, *upstream: Any) -> Any:
        zeros = iter([torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in ctx.others])
        sent = [one if chosen else next(zeros) for one, chosen in zip(upstream, ctx.chosen, strict=True)]
        forward, backward = ctx.functions
        found = TorchAutodiff().differentiable(backward, forward, tuple(sent))
        return None, None, *[one if chosen else None for one, chosen in zip(found, ctx.chosen, strict=True)]


@final
class TorchAutodiff:
    """See `simstrategy.device.Autodiff`.  Integers carry no gradient; zeros are sent `backward` for them."""

    __slots__ = ()

    def differentiable(
        self, forward: GroupFunction[torch.Tensor], backward: GroupFunction[torch.Tensor], arrays: Arrays
    ) -> Arrays:
        if not (torch.is_grad_enabled() and any(array.requires_grad for array in arrays)):
            return forward(tuple([array.detach() for array in arrays]))
        apply: Any = _Linear.apply
        results: Arrays = apply(forward, backward, *arrays)
        return results

    def tracks(self, array: torch.Tensor) -> bool:
        return array.requires_grad and torch.is_grad_enabled()


def _has_gradient(array: torch.Tensor) -> bool:
    return array.is_floating_point() or array.is_complex()
