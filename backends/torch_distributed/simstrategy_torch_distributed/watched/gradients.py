"""The gradients of parameters as entries of a rank's file have them."""

from collections.abc import Mapping, Sequence
from typing import Any, final

import torch
from torch.optim import Optimizer

from simstrategy_torch_distributed.watched.keras_steps import KerasOptimizer
from simstrategy_torch_distributed.watched.parts import part_of

__all__ = ["Terms", "gradients_of", "parameters_of"]


@final
class Terms:
    """What a rank has computed of the gradients of a step, before anything combines it.  found: by parameter."""

    def __init__(self) -> None:
        self.found: dict[torch.Tensor, torch.Tensor] = {}
        self._seen: dict[torch.Tensor, tuple[int, int, int]] = {}
        """For each parameter the place of its gradient, how often that was written, and the rank's calls until then."""
        self._is_rewritten = False

    def add(self, parameter: torch.Tensor, gradient: torch.Tensor, calls: int) -> bool:
        """Keeps a gradient, [...], to which a backward pass has added.  calls: that the rank has made.

        Returns whether it is the first of the step that something has written since an earlier backward pass added to
        it, other than calls: these may combine it.
        """
        self.found[parameter] = gradient.detach().clone()
        now = (gradient.data_ptr(), gradient._version, calls)  # noqa: SLF001 - torch documents it, and has no other name
        before = self._seen.get(parameter)
        self._seen[parameter] = now
        is_same = before is not None and (before[0], before[2]) == (now[0], calls)
        is_first = before is not None and is_same and now[1] > before[1] + 1 and not self._is_rewritten
        self._is_rewritten |= is_first
        return is_first

    def clear(self) -> None:
        """Begins another step."""
        self.found.clear()
        self._seen.clear()
        self._is_rewritten = False


def gradients_of(
    parameters: Sequence[torch.Tensor], terms: Mapping[torch.Tensor, torch.Tensor], facts: dict[str, Any]
) -> list[Any]:
    """Returns the gradients that there are, [...] each, and what this rank computed of them.

    terms: by parameter, [...] each. facts: receives the places of both.
    """
    facts |= {"gradients": [], "terms": []}
    arrays = []
    for kind, found in (
        ("gradients", [one.grad for one in parameters]),
        ("terms", [terms.get(one) for one in parameters]),
    ):
        for place, one in enumerate(found):
            if one is not None:
                part = part_of(one)
                facts[kind].append([place, part.form])
                arrays.append(part.array)
    return arrays


def parameters_of(optimizer: Optimizer | KerasOptimizer) -> list[torch.Tensor]:
    """Returns the parameters of an optimizer, [...] each, in the order of its groups."""
    return [one for group in optimizer.param_groups for one in group["params"]]
