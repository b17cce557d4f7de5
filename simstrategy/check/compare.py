"""Compares two outcomes, and decides whether rounding explains their distance.

Changing every input by one unit in the last place (ulp) moves each leaf of a result by some distance. Two correct
runs differ by no more than `MARGIN` times that (`check.distances`). A bound above `BOUND_MAX` explains too much: the
leaf is then not judged. Everything else (integers, texts, structures, shapes, dtypes, NaNs, errors) is equal or is not.
"""

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.distances import (
    LeafSensitivity,
    distances,
    element_gaps,
    is_float,
    same_bits,
    sensitivity_of,
    unequal_parts,
)
from simstrategy.check.outcome import Outcome

__all__ = [
    "BOUND_MAX",
    "MARGIN",
    "NUDGES",
    "Comparison",
    "Sensitivity",
    "compare",
    "compare_leaf",
    "end_alike",
    "exactly",
    "paths",
    "sensitivity",
]

MARGIN: Final = 5.0
"""Times the distance that one ulp of every input makes in a leaf."""

BOUND_MAX: Final = 1e-2
"""The largest bound, relative to the leaf, within which values that differ by more than `MARGIN` ulps may agree."""

NUDGES: Final = (1, 2, 3)
"""Patterns of `device.UlpPerturbed`: which inputs move up and which move down."""

_TEXT_MAX: Final = 120
"""The most characters of a text that a problem quotes."""

Host = np.ndarray[Any, Any]

Sensitivity = tuple[LeafSensitivity, ...]
"""Of each leaf of an outcome."""


class Comparison(NamedTuple):
    """equal_bits: all bits are equal. distance, one_ulp: of the leaf with the largest ratio of the two.

    problem: the first difference that rounding does not explain, as a sentence; None where there is none. undecided:
    the first one that rounding might explain, together with much else; None where there is none.
    """

    equal_bits: bool
    distance: float
    one_ulp: float
    problem: str | None
    undecided: str | None = None


def paths(outcome: Outcome) -> list[str]:
    """Returns the paths of an outcome's leaves."""
    return [path for path, _ in outcome.leaves]


def sensitivity(reference: Outcome, nudged: Sequence[Outcome]) -> Sensitivity:
    """Returns how far each leaf moves between a run and its nudged runs; those with other leaves set no bound."""
    alike = [other for other in nudged if paths(other) == paths(reference)]
    computed = reference.computed or tuple(leaf.dtype.name for _, leaf in reference.leaves)
    return tuple(
        [
            sensitivity_of(leaf, dtype, [other.leaves[number][1] for other in alike])
            for number, ((_, leaf), dtype) in enumerate(zip(reference.leaves, computed, strict=True))
        ]
    )


def exactly(reference: Outcome) -> Sensitivity:
    """Returns the sensitivity of a program that allows no difference at all."""
    return tuple(LeafSensitivity(0.0, 0.0) for _ in reference.leaves)


def compare(reference: Outcome, other: Outcome, one_ulp: Sensitivity, *, ordered: bool = True) -> Comparison:
    """Compares the values, structures, variables and errors of two outcomes.  It does not compare traces.

    Texts have the other's value against the reference's, as the label of their row has.

    ordered: whether replicas ran in one order in both runs. Else components that replicas write alone are left out
    after an error: which of them came to their writes before it depends on the order.
    """
    if reference.error != other.error:
        return _differs(f"errors differ: {_error(other)} against {_error(reference)}")
    if paths(reference) != paths(other):
        return _differs(_different_leaves(reference, other))
    for one, two in zip_longest(reference.structure, other.structure):
        if one != two:
            return _differs(_different_structures(one, two))
    left_out = set() if ordered or reference.error is None else {*reference.written_alone, *other.written_alone}
    worst = Comparison(True, 0.0, 0.0, None)
    for (path, left), (_, right), leaf in zip(reference.leaves, other.leaves, one_ulp, strict=True):
        if path in left_out:
            continue
        found = compare_leaf(path, left, right, leaf)
        if found.problem is not None:
            return found
        if found.equal_bits:
            continue
        larger = found if found.distance * worst.one_ulp >= worst.distance * found.one_ulp else worst
        first = worst.undecided or found.undecided
        if worst.undecided is None and found.undecided is not None:
            larger = found
        worst = Comparison(False, larger.distance, larger.one_ulp, None, first)
    return worst


def end_alike(one: Outcome, other: Outcome) -> bool:
    """Returns whether two outcomes end alike, with the same bits."""
    return compare(one, other, exactly(one)).equal_bits


def _differs(problem: str) -> Comparison:
    return Comparison(False, np.inf, 0.0, problem)


def compare_leaf(path: str, one: Host, two: Host, leaf: LeafSensitivity) -> Comparison:
    """Compares two leaves [...] of one path.  leaf: how far rounding moves them."""
    texts = one.dtype.kind == two.dtype.kind == "U" and one.shape == two.shape
    if (one.shape, one.dtype) != (two.shape, two.dtype) and not texts:
        forms = f"{two.dtype}{list(two.shape)} against {one.dtype}{list(one.shape)}"
        return _differs(f"{path}: {forms}")
    if same_bits(one, two):
        return Comparison(True, 0.0, 0.0, None)
    if not is_float(one):
        return _unequal_without_floats(path, one, two, leaf)
    worst = Comparison(False, 0.0, 0.0, None)
    for distance, (bound, measured) in zip(distances(one, two), leaf.pairs, strict=True):
        differs = distance > MARGIN * bound
        if differs or (MARGIN * bound > BOUND_MAX and distance > MARGIN * leaf.unit):
            text = f"{path}: {_first_unequal(one, two, distance, _explained(bound, measured))}"
            sentences = (text, None) if differs else (None, text)
            return Comparison(False, distance, bound, *sentences)
        if distance * worst.one_ulp >= worst.distance * bound:
            worst = Comparison(False, distance, bound, None)
    return worst


def _unequal_without_floats(path: str, one: Host, two: Host, leaf: LeafSensitivity) -> Comparison:
    """Describes two leaves [...] that are no floats and differ; not judged where nudged runs change them as well."""
    if one.dtype.kind == "U" and one.ndim == 0:
        text = _text_difference(str(one), str(two))
    else:
        text = _first_unequal(one, two, np.inf, "")
    if leaf.by_max:
        text += "; rounding of the inputs changes it as well"
        return Comparison(False, np.inf, np.inf, None, f"{path}: {text}")
    return _differs(f"{path}: {text}")


def _element(one: Host, two: Host, flat: int) -> str:
    index = tuple(int(i) for i in np.unravel_index(flat, one.shape))
    where = f"element {list(index)} is " if index else ""
    return f"{where}{two[index]!s} against {one[index]!s}"


def _first_unequal(one: Host, two: Host, distance: float, explained: str) -> str:
    """Describes the element that differs most; the first that differs, if it is a NaN, an infinity or no float."""
    unequal = unequal_parts(one, two).any(axis=1) if is_float(one) else np.asarray(one != two).reshape(-1)
    flat = int(np.argmax(unequal))
    if np.isfinite(distance) and is_float(one):
        flat = int(np.argmax(element_gaps(one, two).max(axis=1)))
    scale = ", relative to its size" if np.any(one) else ""
    size = f"; {distance:.2g} apart{scale}{explained}" if np.isfinite(distance) else ""
    return f"{_element(one, two, flat)}{size}"


def _explained(bound: float, measured: float | None) -> str:
    """Returns what explains a distance: how far rounding moved the value, where that was measured, and how far it may.

    bound: times `MARGIN` it is what may be rounding; 0 where nothing may.
    """
    if not bound:
        return ""
    allowed = f"up to {MARGIN * bound:.2g} may be rounding"
    if measured is None:
        return f" ({allowed})"
    moved = f"moves it by {measured:.2g}" if measured else "does not move it"
    return f" (rounding of the inputs {moved}; {allowed})"


def _error(outcome: Outcome) -> str:
    return "none" if outcome.error is None else f"{outcome.error[0]}({outcome.error[1]})"


def _text_difference(one: str, two: str) -> str:
    """Quotes two texts, long ones from shortly before the place where they differ."""
    if max(len(one), len(two)) <= _TEXT_MAX:
        return f"{two} against {one}"
    place = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
    first = max(0, place - _TEXT_MAX // 4)
    parts = [text[first : first + _TEXT_MAX] for text in (one, two)]
    return f"texts differ at character {place}: …{parts[1]}… against …{parts[0]}…"


def _different_leaves(reference: Outcome, other: Outcome) -> str:
    left, right = paths(reference), paths(other)
    missing = [path for path in left if path not in right]
    extra = [path for path in right if path not in left]
    return f"results have different structures: missing {missing[:3]}, not expected {extra[:3]}"


def _different_structures(one: tuple[str, str] | None, two: tuple[str, str] | None) -> str:
    if one is None or two is None or one[0] != two[0]:
        named = " against ".join("nothing" if found is None else f"{found[0]}: {found[1]}" for found in (two, one))
        return f"results have different structures: {named}"
    return f"{one[0]}: {two[1]} against {one[1]}"
