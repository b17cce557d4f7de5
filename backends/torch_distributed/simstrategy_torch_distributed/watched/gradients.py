"""The gradients of parameters as entries of a rank's file have them."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.optim import Optimizer

from simstrategy_torch_distributed.watched.keras_steps import KerasOptimizer
from simstrategy_torch_distributed.watched.parts import part_of

__all__ = ["gradients_of", "parameters_of"]


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
