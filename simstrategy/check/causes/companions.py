"""Recognises values of one example that depend on the other examples of its replica, such as batch statistics.

Two facts prove it: rows that are the reference's, shifted and scaled by other numbers on each replica; and variances of
which the mean falls short of the reference's by the variance of the means.
"""

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import DRAWS, STATISTICS, Finding, Host, Leaves
from simstrategy.check.causes.rounding import unit_of, wide
from simstrategy.check.causes.samples import is_same_data
from simstrategy.check.causes.scene import Scene

__all__ = ["by_rows_of_values", "by_variances", "is_line", "is_moved"]

_ROWS_MIN: Final = 3
"""The fewest rows of a replica that show a shift and a scale: two rows fit any."""
_PARTS_MIN: Final = 2
"""The fewest parts with two rows and more whose shifts, or scales, are compared."""
_EQUATIONS_MIN: Final = 3
"""The fewest elements that have to fulfil one shift, or one scale, beside the first row of each part."""
_SPREAD_NEAR: Final = 1e-3
"""How near means and spreads of standardised columns have to be: a small number may be added to the divisor."""
_NEAR: Final = 1e3
"""Ulps by which a relation between rows may be off, since rows were computed by several operations."""

_GAP_NEAR: Final = 5e-3
"""How near what variances fall short of has to be to the variance of the means, relatively."""

_REMEDY: Final = "Reduce the statistics over all replicas before they are used"
_OF_ALL: Final = "Take the squares about the mean of all replicas, and then their mean over all replicas"


def by_variances(scene: Scene) -> Finding | None:
    """Recognises variances of each replica's part that are averaged, without the variance of the parts' means."""
    one = scene.one
    if not one.is_elementwise or not one.differ_among_replicas:
        return None
    weights = [[1 / one.replicas] * one.replicas]
    if one.shares is not None:
        weights.append(list(one.shares))
    for number, expected in enumerate(one.expected):
        if expected.size < 2 or expected.dtype.kind != "f":
            continue
        terms = [wide(term[number]) for term in one.terms]
        near = _NEAR * unit_of(expected)
        others = [[wide(term[leaf]) for term in one.terms] for leaf in range(len(one.expected)) if leaf != number]
        for means in (*others, *_companions(scene, expected.shape)):
            if means[0].shape != expected.shape:
                continue
            for shares in weights:
                if _falls_short(wide(expected), terms, means, shares, near):
                    reason = (
                        "variances of each replica's part are averaged: the reference's is larger by the variance of "
                        "the replicas' means, which are combined in this step as well"
                    )
                    return Finding(STATISTICS, reason, _OF_ALL)
    return None


def _companions(scene: Scene, shape: tuple[int, ...]) -> Iterator[list[Host]]:
    """Yields the replicas' values of this shape that are combined in the same step."""
    for point in [found for _, found in scene.neighbours()]:
        if len(point.inputs) == scene.one.replicas and all(len(term) == len(point.inputs[0]) for term in point.inputs):
            for number in range(len(point.inputs[0])):
                if all(term[number].shape == shape for term in point.inputs):
                    yield [wide(term[number]) for term in point.inputs]


def _falls_short(expected: Host, terms: list[Host], means: list[Host], shares: list[float], near: float) -> bool:
    """Returns whether expected - Σ share × term is a positive number times the variance of the means."""
    gap = expected - sum((term * share for term, share in zip(terms, shares, strict=True)), np.zeros(()))
    middle = sum((mean * share for mean, share in zip(means, shares, strict=True)), np.zeros(()))
    spread = sum(((mean - middle) ** 2 * share for mean, share in zip(means, shares, strict=True)), np.zeros(()))
    size = float(np.sum(spread * spread))
    if not size or not np.isfinite(size) or not np.isfinite(gap).all():
        return False
    slope = float(np.sum(spread * gap)) / size
    scale = float(np.abs(gap).max())
    error = float(np.abs(gap - slope * spread).max())
    return slope > 0 and scale > near * float(np.abs(expected).max()) and error <= _GAP_NEAR * scale


def by_rows_of_values(scene: Scene) -> Finding | None:
    """Compares values that have one row for each example, replica by replica, with the reference's rows."""
    one = scene.one
    for number in range(len(one.expected)):
        found = _rowwise(one, number)
        if found is None:
            continue
        expected, parts = found
        starts = np.cumsum([0, *[len(part) for part in parts]])
        pairs = [(expected[start : start + len(part)], part) for start, part in zip(starts, parts, strict=False)]
        if is_moved(pairs):
            reason = (
                "on each replica the values of its examples are the reference's, shifted and scaled by numbers of that "
                "replica: they depend on the other examples there"
            )
            return Finding(STATISTICS, reason, _REMEDY)
        finding = _drawn(scene, pairs)
        if finding is not None:
            return finding
    return _of_other_axes(one)


def _of_other_axes(one: Combination) -> Finding | None:
    """Recognises parts of an array that is cut along another axis than the first, as the columns of a softmax are."""
    for number, expected in enumerate(one.expected):
        parts = [wide(term[number]) for term in one.terms if number < len(term)]
        if expected.dtype.kind != "f" or len(parts) != one.replicas or any(x.ndim != expected.ndim for x in parts):
            continue
        for axis in range(1, expected.ndim):
            ends = np.cumsum([part.shape[axis] for part in parts])
            blocks = np.split(wide(expected), ends[:-1], axis=axis)
            if [block.shape for block in blocks] != [part.shape for part in parts]:
                continue
            turned = [[np.moveaxis(x, axis, 0) for x in pair] for pair in zip(blocks, parts, strict=True)]
            if is_moved([(block, part) for block, part in turned]):
                reason = (
                    f"on each replica the values of its part along axis {axis} are the reference's, shifted and scaled "
                    f"by numbers of that replica: they depend on the other values of the part"
                )
                return Finding(STATISTICS, reason, _REMEDY)
    return None


def _rowwise(one: Combination, number: int) -> tuple[Host, list[Host]] | None:
    """Returns the reference's rows and those of each replica, where a leaf has one for each example; else None."""

    def rows(inputs: tuple[Leaves, ...]) -> list[Host] | None:
        found = [term[number] for term in inputs if number < len(term)]
        if len(found) != len(inputs) or any(leaf.ndim == 0 or leaf.dtype.kind != "f" for leaf in found):
            return None
        return [wide(leaf) for leaf in found] if len({leaf.shape[1:] for leaf in found}) == 1 else None

    expected, parts = rows(one.reference.inputs), rows(one.other.inputs)
    if not expected or not parts or expected[0].shape[1:] != parts[0].shape[1:]:
        return None
    whole = np.concatenate(expected)
    if len(whole) != sum(len(part) for part in parts) or len(whole) == len(parts[0]):
        return None
    sizes = one.other.parts
    if sizes is not None and tuple(len(part) for part in parts) != tuple(sizes):
        return None
    return whole, parts


def is_moved(pairs: list[tuple[Host, Host]]) -> bool:
    """Returns whether rows are the reference's, shifted and scaled by numbers of each replica, in every column.

    pairs: of each replica the reference's rows for its examples, and its rows, [examples, …].
    """
    if _is_standardised(pairs) or _moves_by_one_number(pairs):
        return True
    usable = [pair for pair in pairs if len(pair[0]) >= _ROWS_MIN]
    fits = [_line(_flat(expected), _flat(found)) for expected, found in usable]
    known = [fit for fit in fits if fit is not None]
    if not known or len(known) < max(len(usable), sum(len(pair[0]) > 0 for pair in pairs) - 1):
        return False
    # Where replica 0 has the reference's own rows, the rank may decide, and not the part.
    if np.allclose(known[0], [[1.0], [0.0]], atol=1e-4):
        return False
    return len(known) == 1 or not all(np.allclose(known[0], one, atol=1e-6) for one in known[1:])


def _moves_by_one_number(pairs: list[tuple[Host, Host]]) -> bool:
    """Returns whether rows are shifted alone, or scaled alone, by numbers of each replica: two rows show that.

    In every column all rows of a replica have one shift, or one scale. Enough rows and columns have to fulfil it.
    """
    flat = [(_flat(expected), _flat(found)) for expected, found in pairs if len(expected) > 1]
    if len(flat) < _PARTS_MIN or sum((len(one) - 1) * one.shape[1] for one, _ in flat) < _EQUATIONS_MIN:
        return False
    with np.errstate(all="ignore"):
        for change, same in ((np.subtract, 0.0), (np.divide, 1.0)):
            moves = [change(found, expected) for expected, found in flat]
            sizes = [max(1e-30, float(np.abs(move).max())) for move in moves]
            if not all(np.isfinite(move).all() for move in moves):
                continue
            alike = all(
                float(np.ptp(move, axis=0).max()) <= 1e-4 * size for move, size in zip(moves, sizes, strict=True)
            )
            by_rank = np.allclose(moves[0], same, atol=1e-4)
            if alike and not by_rank and any(not np.allclose(moves[0][0], move[0], rtol=1e-4) for move in moves[1:]):
                return True
    return False


def is_line(expected: Host, found: Host) -> bool:
    """Returns whether rows [n, …] are the expected ones, shifted and scaled, column by column."""
    return len(expected) >= _ROWS_MIN and _line(_flat(expected), _flat(found)) is not None


def _is_standardised(pairs: list[tuple[Host, Host]]) -> bool:
    """Returns whether each column has one mean, 0, and one spread on every replica, and in the reference as well."""
    expected = np.concatenate([_flat(pair[0]) for pair in pairs])
    parts = [_flat(pair[1]) for pair in pairs if len(pair[1]) > 1]
    if len(expected) < _ROWS_MIN or not parts or not np.isfinite(expected).all():
        return False
    spread = expected.std(axis=0)
    near = _SPREAD_NEAR * float(spread.max(initial=0))
    if not (spread > near).all() or np.abs(expected.mean(axis=0)).max() > near:
        return False
    return all(
        bool(np.abs(part.mean(axis=0)).max() <= near and np.abs(part.std(axis=0) - spread).max() <= near)
        for part in parts
    )


def _flat(values: Host) -> Host:
    """Returns rows [n, …] as [n, columns]; there may be no rows, or no columns."""
    return values.reshape(len(values), math.prod(values.shape[1:]))


def _line(expected: Host, found: Host) -> Host | None:
    """Returns scale and shift [2, columns] with found = scale × expected + shift in each column, or None."""
    middle, other = expected.mean(axis=0), found.mean(axis=0)
    spread = ((expected - middle) ** 2).sum(axis=0)
    if not (spread > 0).all() or not np.isfinite(found).all():
        return None
    scale = ((expected - middle) * (found - other)).sum(axis=0) / spread
    shift = other - scale * middle
    gap = np.abs(expected * scale + shift - found).max()
    return np.stack([scale, shift]) if gap <= 1e-4 * max(1e-30, np.abs(found).max()) and (scale != 0).all() else None


def _drawn(scene: Scene, pairs: list[tuple[Host, Host]]) -> Finding | None:
    """Recognises the draws of the reference on replica 0 and others elsewhere, though all examples are the same."""
    equal = [np.array_equal(expected, found) for expected, found in pairs if len(expected)]
    if not is_same_data(scene) or not equal[0] or all(equal):
        return None
    rank = equal.index(False)
    reason = (
        f"replica 0 has the reference's values for its examples, and replica {rank} has others for the same examples"
    )
    return Finding(DRAWS, reason, "Draw for each example, from its number or from the global batch")
