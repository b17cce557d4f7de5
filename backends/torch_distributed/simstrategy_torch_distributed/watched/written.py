"""Notes what is written to parameters between two steps: a mistake there is none of the optimizer."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
import torch

from simstrategy_torch_distributed.watched.parts import part_of

__all__ = ["Written"]


@final
class Written:
    """What a rank's parameters have right after their last step."""

    def __init__(self) -> None:
        self._made: dict[torch.Tensor, np.ndarray[Any, Any]] = {}

    def keep(self, parameters: Sequence[torch.Tensor], *, fits: bool) -> None:
        """Copies parameters, [...] each, right after a step of them.  fits: whether they are not too large for that."""
        for one in parameters:
            self._made.pop(one, None)
            if fits:
                self._made[one] = part_of(one).array.copy()

    def since(
        self, parameters: Sequence[torch.Tensor], arrays: Sequence[np.ndarray[Any, Any]]
    ) -> tuple[list[int], list[np.ndarray[Any, Any]]]:
        """Returns which of some parameters were written since their last step, and what each had right after it.

        arrays: what they have now, [...] each.
        """
        found = {
            place: self._made[one]
            for place, (one, array) in enumerate(zip(parameters, arrays, strict=True))
            if one in self._made and self._made[one].tobytes() != array.tobytes()
        }
        return list(found), list(found.values())
