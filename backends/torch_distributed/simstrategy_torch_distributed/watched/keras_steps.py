"""The steps of Keras's own optimizers on torch: they make no step of an optimizer of torch, and have no hooks.

Every one of them changes its variables in `apply`, which `fit` and loops of a script call alike.
"""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, final

import torch

__all__ = ["KerasOptimizer", "KerasSteps"]

Hook = Callable[[Any, Any, Any], object]
"""Receives an optimizer, as the hooks of torch's optimizers do."""


@final
class KerasOptimizer:
    """What a hook of torch reads of an optimizer.  param_groups: one group, of torch's parameters."""

    __slots__ = ("param_groups",)

    def __init__(self) -> None:
        self.param_groups: list[dict[str, list[torch.Tensor]]] = [{"params": []}]


@final
class KerasSteps:
    """Calls hooks before and after each step of an optimizer of Keras, once `look` has found Keras imported."""

    def __init__(self, before: Hook, after: Hook) -> None:
        self._before, self._after = before, after
        self._optimizers: dict[Any, KerasOptimizer] = {}
        self._is_watched = False

    def look(self) -> None:
        """Puts the hooks into Keras, if the script has imported it, and they are not there."""
        keras = sys.modules.get("keras")
        if self._is_watched or keras is None:
            return
        self._is_watched = True
        base = next(one for one in keras.optimizers.Optimizer.__mro__ if "apply" in vars(one))
        setattr(base, "apply", self._watched(vars(base)["apply"]))  # noqa: B010 - known by name alone

    def _watched(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(apply)
        def applied(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            # What is given may be an iterator, which is read once.
            given = None if trainable_variables is None else list(trainable_variables)
            known = self._optimizers.setdefault(optimizer, KerasOptimizer())
            variables = optimizer._trainable_variables if given is None else given  # noqa: SLF001 - has no other name
            known.param_groups[0]["params"] = [one.value for one in variables]
            self._before(known, None, None)
            result = apply(optimizer, grads, given)
            self._after(known, None, None)
            return result

        return applied
