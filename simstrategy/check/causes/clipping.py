"""Recognises values that were clipped, or scaled to a fixed norm, before they were combined."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import CLIPPING, STATISTICS, Finding, Host, PointFacts
from simstrategy.check.causes.rounding import unit_of, varies, wide
from simstrategy.check.causes.scene import Scene

__all__ = ["by_clipping", "is_fixed", "of_bound"]

_NEAR: Final = 16
"""Ulps by which two norms may differ that were scaled to one bound."""
_PARALLEL: Final = 1e-9
"""Two vectors are one direction where the cosine is nearer to 1 than this."""
_BOUND_NEAR: Final = 1e-3
"""How near norms have to be that follow from one bound, relatively."""
_CLIP_LATER: Final = "Combine the replicas' values first, and clip the result"
_ELEMENTS_MIN: Final = 3
"""The fewest elements at the bound of a clip by value."""


def by_clipping(scene: Scene) -> Finding | None:
    """Looks for a bound that the replicas' values reach and none exceeds, in all steps of the other run."""
    one = scene.one
    if not one.is_elementwise or not one.differ_among_replicas:
        return None
    if one.other.what == "run" and one.other.op is None:
        return None  # nothing combines what the replicas return
    for what, vectors, here in _groups(scene):
        if any((vector == np.round(vector)).all() and vector.any() for vector in vectors):
            return None  # counts, and rows of ones and zeros, have equal norms by chance
        bound = _norm_bound(vectors, here, unit_of(one.other.outputs[0]))
        if bound is not None:
            reason = (
                f"each replica's {what} is clipped, or scaled, to a norm of {bound:.6g} before the values are combined"
            )
            return Finding(CLIPPING, reason, _CLIP_LATER)
        bound = _value_bound(vectors, here, one.replicas) if _size(one.other) > 1 else None
        if bound is not None:
            reason = f"elements of each replica's {what} are clipped to ±{bound:.6g} before the values are combined"
            return Finding(CLIPPING, reason, _CLIP_LATER)
    return None


def of_bound(bound: float, expected: float, ratio: float, what: str, site: str) -> Finding:
    """Returns what values show that have one norm on several replicas.

    bound: this norm. expected: that of the reference's value. ratio: the number of replicas to that of the reference.
    what, site: the name and the line of the value.
    """
    if is_fixed(bound, expected, ratio):
        reason = f"on several replicas {what} is clipped, or scaled, to a norm of {bound:.6g}"
        return Finding(CLIPPING, reason, _CLIP_LATER, source=site)
    reason = (
        f"on each replica {what} is scaled by a number of that replica's part, so that its norm is {bound:.6g}, and "
        f"{expected:.6g} in the reference"
    )
    return Finding(STATISTICS, reason, "Compute that number over all replicas first", also=(CLIPPING,), source=site)


def is_fixed(bound: float, expected: float, ratio: float) -> bool:
    """Returns whether a norm may be the bound of a clip: the reference's value is not longer then.

    It may be longer by the ratio of the numbers of replicas, by which what was clipped may be divided.
    """
    return expected <= bound * (1 + _BOUND_NEAR) or abs(expected - bound * ratio) <= _BOUND_NEAR * expected


def _groups(scene: Scene) -> Iterator[tuple[str, list[Host], list[Host]]]:
    """Yields a name, the vectors of all steps, and those of the point's own: of leaves, of calls, of sets of calls."""
    one = scene.one
    points = [point for point in scene.same_place() if _is_usable(point)]
    outputs = one.other.outputs
    for number in range(len(outputs)):
        if outputs[number].size > 1:
            name = "value" if len(outputs) == 1 else f"value {number + 1}"
            yield (
                name,
                [wide(term[number]).reshape(-1) for point in points for term in point.contributions],
                [wide(term[number]).reshape(-1) for term in one.other.contributions],
            )
    if len(outputs) > 1:
        yield (
            "nest of values",
            [_flat(term) for point in points for term in point.contributions],
            [_flat(term) for term in one.other.contributions],
        )
    called = (one.other.what, one.other.op)
    alike = [point for point in scene.other if (point.what, point.op) == called and _is_usable(point)]
    yield from _sets("set of values of a step", alike, one)
    # A loss is often combined beside gradients that were clipped without it: on another line, or as a single number.
    on_line = [point for point in alike if point.site == one.other.site]
    if len(on_line) < len(alike):
        yield from _sets("set of values at this line", on_line, one)
    arrays = [point for point in alike if _size(point) > 1]
    if len(arrays) < len(alike) and _size(one.other) > 1:
        yield from _sets("set of arrays of a step", arrays, one)
    singles = dict.fromkeys([point.site for point in alike if _size(point) < 2 and point.site != one.other.site])
    for site in singles if len(on_line) < len(alike) else ():
        others = [point for point in alike if point.site != site or _size(point) > 1]
        yield from _sets(f"set of values of a step without the number at {site}", others, one)


def _size(point: PointFacts) -> int:
    return sum(leaf.size for leaf in point.outputs)


def _sets(name: str, points: list[PointFacts], one: Combination) -> Iterator[tuple[str, list[Host], list[Host]]]:
    """Yields the values of several points of a step together, as one vector of each replica, where there are such."""
    steps: dict[int, list[PointFacts]] = {}
    for point in points:
        steps.setdefault(point.step, []).append(point)
    together = {step: _together(found, one.replicas) for step, found in steps.items() if len(found) > 1}
    if one.other.step in together:
        yield name, [row for rows in together.values() for row in rows], together[one.other.step]


def _is_usable(point: PointFacts) -> bool:
    """Returns whether the replicas bring values of their own: clipped values that are equal were combined before."""
    shapes = [leaf.shape for leaf in (point.outputs or point.inputs[0])]
    alike = all([leaf.shape for leaf in term] == shapes for term in point.contributions)
    return len(point.inputs) > 1 and alike and varies(point.contributions, tuple([0.0] * len(shapes)))


def _flat(term: tuple[Host, ...]) -> Host:
    return np.concatenate([wide(leaf).reshape(-1) for leaf in term])


def _together(points: list[PointFacts], replicas: int) -> list[Host]:
    return [np.concatenate([_flat(point.contributions[rank]) for point in points]) for rank in range(replicas)]


def _norm_bound(vectors: list[Host], here: list[Host], unit: float) -> float | None:
    """Returns the largest norm, if two vectors of different directions have it, one of them at the point itself."""
    norms = [float(np.linalg.norm(vector)) for vector in vectors]
    largest = max(norms, default=0.0)
    if not largest or not np.isfinite(norms).all():
        return None
    near = _NEAR * unit * largest
    at_bound = [vector for vector, norm in zip(vectors, norms, strict=True) if largest - norm <= near]
    if not any(largest - float(np.linalg.norm(vector)) <= near for vector in here):
        return None
    first = at_bound[0]
    others = [
        1 - abs(float(first @ other)) / largest**2 > _PARALLEL for other in at_bound[1:] if len(other) == len(first)
    ]
    return largest if any(others) else None


def _value_bound(vectors: list[Host], here: list[Host], replicas: int) -> float | None:
    """Returns the largest size of an element, if several have it to the bit and others are smaller.

    An element that a replica brings again in a later step counts once: it may not have changed. Where smaller sizes
    occur as often, as with equal columns of the data, elements are equal for another reason.
    """
    if not vectors:
        return None
    sizes = np.abs(np.concatenate(vectors))
    largest = float(sizes.max(initial=0))
    if not largest or not np.isfinite(sizes).all():
        return None
    if sum(int((np.abs(vector) == largest).sum()) for vector in here) < 2:
        return None
    places = np.concatenate([np.arange(len(one)) * replicas + number % replicas for number, one in enumerate(vectors)])
    order = np.lexsort((places, sizes))
    sizes, places = sizes[order], places[order]
    is_new = np.append(True, (sizes[1:] != sizes[:-1]) | (places[1:] != places[:-1]))
    different, counts = np.unique(sizes[is_new], return_counts=True)
    reached = int(counts[-1])
    often = counts[:-1][different[:-1] > 0].max(initial=0)
    is_bound = reached >= _ELEMENTS_MIN and len(different) > reached // 4 + 1 and reached > often
    return largest if is_bound else None
