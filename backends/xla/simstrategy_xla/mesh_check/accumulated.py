"""Finds what rounding alone decides of a JAX program's state, by what optimizers accumulate of gradients there.

The gradients of a compiled step are no values of the program. An optimizer of optax keeps a weighted sum of them, under
the path of the parameter: ``mu`` of Adam and Lion, ``trace`` of momentum.
"""

from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np

from simstrategy.check.causes.left_over import Gradients, left_over
from simstrategy.check.exempt import name_of
from simstrategy.check.left_over import LeftOver
from simstrategy.check.meaning import meaning_of
from simstrategy.check.outcome import Outcome

__all__ = ["left_over_in"]

_SUMS: Final = ("mu", "trace")
_STATE: Final = (*_SUMS, "nu")
"""Fields of optax' states that have the structure of the parameters."""


def left_over_in(one: Outcome, other: Outcome, nudged: Sequence[Outcome], paths: Collection[str]) -> LeftOver:
    """Returns which elements of parameters, and of an optimizer's state of them, rounding alone decides, by path.

    one, other: two runs that are compared. nudged: the first one with its inputs moved. paths: of the values in
    question. Nothing is found where such a sum belongs to several parameters, or has another shape.
    """
    sums = [_sums(run) for run in (one, other, *nudged)]
    found = left_over([[sums[0]], [sums[1]]], [[moved] for moved in sums[2:]])
    shapes = {path: value.shape for path, value in meaning_of(one).whole.items()}
    owners = {path: _owners(name_of(path), found) for path in paths}
    return {
        path: found[names[0]]
        for path, names in owners.items()
        if len(names) == 1 and shapes.get(path) == found[names[0]].shape
    }


def _sums(run: Outcome) -> Gradients:
    """Returns what is accumulated, by the parameter's own part of the path; what has a name twice is left out."""
    found: dict[str, list[np.ndarray[Any, Any]]] = {}
    for path, value in meaning_of(run).whole.items():
        name = _below(name_of(path), _SUMS)
        if name is not None:
            found.setdefault(name, []).append(value)
    return {name: values for name, values in found.items() if len(values) == 1}


def _below(name: str, fields: Sequence[str]) -> str | None:
    """Returns a name's part after one of these fields; None for a name without.

    >>> _below("state/0/mu/params/key/bias", ["mu"]), _below("params/mu", ["mu"])
    ('params/key/bias', None)
    """
    parts = name.split("/")
    places = [place for place, part in enumerate(parts[:-1]) if part in fields]
    return "/".join(parts[places[-1] + 1 :]) if places else None


def _owners(name: str, sums: Collection[str]) -> list[str]:
    """Returns the sums that a value belongs to: of itself, or of the parameter with that path."""
    own = _below(name, _STATE)
    if own is not None:
        return [own] if own in sums else []
    return [one for one in sums if name == one or name.endswith(f"/{one}")]
