"""Finds elements of parameters whose gradients are what rounding leaves where terms cancel, in all steps of two runs.

Attention does not depend on the bias of its keys, nor what is normalised on a bias that is added before: the exact
gradients are zero, and an optimizer that divides by their size makes whole steps of what rounding leaves.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from simstrategy.check.causes.facts import Host, StepFacts
from simstrategy.device.perturbed import cancelled, largest_of

__all__ = ["Gradients", "gradients_of", "left_over", "truly_small"]

_SMALL_MAX: Final = 1000.0
"""Units in the last place of the largest gradient of a step that may be left where terms cancel: many, and larger."""
_MOVED_MIN: Final = 0.25
"""The part of a gradient by which one ulp of the inputs moves what rounding leaves; it moves others by a part like
1e-6."""
_TRUE_MAX: Final = 1e-3
"""By a smaller part of its size one ulp of the inputs moves a gradient that is small and no more."""
_OWN_MAX: Final = 1.5
"""Units in its last place by which a nudged run moves a gradient itself."""
_OFTEN: Final = 4
"""In more than one of so many steps of the nudged runs it moves so far: by chance the same may be left twice."""

Gradients = Mapping[str, Sequence[Host]]
"""Of a step, by the name of the parameter: that of each replica, or one for all, [any shape] each."""


def gradients_of(step: StepFacts) -> Gradients:
    """Returns the gradients that an optimizer takes in a step."""
    return {name: leaves for name, *leaves in zip(step.names, *step.gradients, strict=True)}


def left_over(runs: Sequence[Sequence[Gradients]], nudged: Sequence[Sequence[Gradients]]) -> dict[str, Host]:
    """Returns which elements of each parameter have such gradients, as bool [any shape].

    runs: the steps of the runs that are compared. nudged: those of runs that are the first one with its inputs moved by
    one ulp. Such a gradient is small beside the largest one of its step in all steps, and moves by a large part of its
    size with the inputs. One that is truly as small does not move so. Parameters without are left out.
    """
    small = [_small(steps) for steps in runs]
    found = {}
    for name, moving in _moving(runs[0], nudged).items():
        masks = [moving, *[one[name] for one in small if name in one]]
        if len(masks) == 1 + len(runs) and len({mask.shape for mask in masks}) == 1:
            found[name] = np.logical_and.reduce(masks)
    return {name: mask for name, mask in found.items() if mask.any()}


def truly_small(
    steps: Sequence[Gradients], nudged: Sequence[Sequence[Gradients]], terms: Sequence[Mapping[str, float]] = ()
) -> set[str]:
    """Returns the parameters with elements that may be what rounding leaves and are none, as the nudged runs show.

    Each of them moves with the inputs, and by a small part of its size alone: what is left where terms cancel moves by
    a large part, or not at all where the terms are constants. steps: of the run that is nudged. terms: of each step,
    by name, the sizes of terms; a name that is missing has none that cancel.
    """
    seen: dict[str, Host] = {}
    most: dict[str, Host] = {}
    known = terms or [{}] * len(steps)
    for one, two, sizes in [row for others in nudged for row in zip(steps, others, known, strict=False)]:
        of_all = max([*[largest_of(leaf) for leaves in one.values() for leaf in leaves], *sizes.values()], default=0.0)
        for name in one.keys() & two.keys():
            for left, right in zip(one[name], two[name], strict=False):
                if not left.shape == right.shape == seen.get(name, left).shape:
                    return set()
                small, moves = _moves(left, right, of_all, sizes.get(name, 0.0))
                seen[name], most[name] = seen.get(name, small) | small, np.maximum(most.get(name, moves), moves)
    found = {name: most[name][small] for name, small in seen.items() if small.any()}
    return {name for name, moves in found.items() if moves.min() > 0 and moves.max() < _TRUE_MAX}


def _moves(one: Host, two: Host, of_all: float, terms: float) -> tuple[Host, Host]:
    """Returns which elements [any shape] may be what rounding leaves, and by which part of themselves these move.

    of_all: the largest gradient of the step. terms: the size of the terms. A move that may be the nudge of the gradient
    itself is none.
    """
    small = cancelled(one, beside=of_all, terms=terms)
    found = np.zeros(one.shape)
    before, after = one[small].astype(np.float64), two[small].astype(np.float64)
    gaps = np.abs(after - before)
    is_own = gaps <= _OWN_MAX * np.spacing(np.abs(one[small])) if small.any() else small[small]
    found[small] = np.where(is_own, 0.0, gaps / np.abs(before))
    return small, found


def _small(steps: Sequence[Gradients]) -> dict[str, Host]:
    """Returns which elements are a part of the largest gradient, of float32 or float64, in every step."""
    found: dict[str, Host] = {}
    for step in steps:
        of_all = max([largest_of(leaf) for leaves in step.values() for leaf in leaves], default=0.0)
        for name, leaves in step.items():
            for leaf in leaves:
                exact = leaf.dtype.name in ("float32", "float64")
                most = _SMALL_MAX * float(np.finfo(leaf.dtype).eps) * of_all if exact else 0.0
                small = np.abs(leaf) <= most
                known = found.get(name, small)
                found[name] = known & small if known.shape == small.shape else np.zeros(small.shape, bool)
    return found


def _moving(steps: Sequence[Gradients], nudged: Sequence[Sequence[Gradients]]) -> dict[str, Host]:
    """Returns which elements move far in enough of the steps of the nudged runs."""
    scores: dict[str, Host] = {}
    for one, two in [pair for others in nudged for pair in zip(steps, others, strict=False)]:
        for name in one.keys() & two.keys():
            for left, right in zip(one[name], two[name], strict=False):
                known = scores.get(name, np.zeros(left.shape))
                if not known.shape == left.shape == right.shape:
                    return {}
                scores[name] = known + _score(left, right)
    return {name: score > 0 for name, score in scores.items()}


def _score(one: Host, two: Host) -> Host:
    """Returns `_OFTEN` - 1 for each element [any shape] that moves far, -1 for one that does not, and 0 for zeros."""
    with np.errstate(invalid="ignore", over="ignore"):
        far = np.abs(two - one) > _MOVED_MIN * np.maximum(np.abs(one), np.abs(two))
    return np.where((one == 0) & (two == 0), 0, np.where(far, _OFTEN - 1, -1))
