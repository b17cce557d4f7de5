"""Compares the meanings of two runs that need not be equal in form: other numbers of replicas, another cut, a resume.

Each value is compared, found wrong, or left out with the reason: a value that each replica has for itself has nothing
to be compared with.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from simstrategy.check.compare import MARGIN, Comparison, compare_leaf
from simstrategy.check.distances import LeafSensitivity, is_float, scale, sensitivity_of
from simstrategy.check.exempt import reason_for
from simstrategy.check.meaning import Meaning
from simstrategy.check.outcome import Outcome
from simstrategy.check.structures import Described, unlike

__all__ = ["ITS_OWN", "THE_COUNT", "Across", "Side", "compare_across", "counted"]

Host = np.ndarray[Any, Any]

_REORDERED: Final = 16.0
"""Units in the last place that a sum may move, beyond what nudges show, because its terms come in another order."""

_REORDERED_MAX: Final = 2e-4
"""The most that `_REORDERED` units may be, relative: less than one unit of float16."""

_UNKNOWN_MAX: Final = 1e-2
"""The largest distance that rounding may explain where it could not be measured."""

ITS_OWN: Final = "each replica has a value of its own"
"""Why a value is not compared that has no meaning without its replica."""
_REDUCE: Final = ". What is observed is one value of all: reduce it first, or do not observe it"
THE_COUNT: Final = "it is the number of replicas"
"""Why a number, or a text, is not compared that has no other meaning."""
_COUNTER: Final = (
    ". A counter that every replica adds to in one step holds this as well: make more steps, which shows it, or exempt "
    "the variable where it holds the number on purpose"
)


class Side(NamedTuple):
    """One of two runs.  replicas: how many. meaning: what it gave. nudged: the same of its nudged runs."""

    replicas: int
    meaning: Meaning
    nudged: Sequence[Meaning]
    outcome: Outcome


class Across(NamedTuple):
    """What came of a comparison; problems, undecided, left, exempt: by path, each with a sentence.

    values: how many were compared. worst: of the value with the largest ratio of distance and bound.
    """

    values: int
    worst: Comparison
    problems: Mapping[str, str]
    undecided: Mapping[str, str]
    left: Mapping[str, str]
    exempt: Mapping[str, str]


def counted(count: int) -> str:
    """Returns a number of replicas in words.

    >>> counted(1), counted(3)
    ('1 replica', '3 replicas')
    """
    return "1 replica" if count == 1 else f"{count} replicas"


def compare_across(one: Side, other: Side, patterns: Mapping[str, str]) -> Across:
    """Compares what two runs mean.  patterns: names of exempt values, each with its reason."""
    left, right = one.meaning, other.meaning
    reason_of = _exemptions(one, other, patterns)
    partly = {**left.partly, **right.partly}
    found: dict[str, dict[str, str]] = {"problems": {}, "undecided": {}, "left": {}, "exempt": {}}
    values, worst = 0, Comparison(True, 0.0, 0.0, None)
    for path in dict.fromkeys((*left.whole, *left.apart, *right.whole, *right.apart)):
        reason = reason_of(path)
        if reason is not None:
            found["exempt"][path] = reason
            continue
        pair = _copies(path, one, other) or _pair(path, one, other)
        if isinstance(pair, _NoPair):
            advice = _advice(path, pair, one, other)
            found["undecided" if advice else "left" if pair.lawful else "problems"][path] = f"{pair.text}{advice}"
            continue
        bound = _moved(path, one, other)
        if isinstance(pair, _Copies):
            leaf, pair = _worst_copy(path, pair, bound), pair.pairs[0]
        else:
            leaf = compare_leaf(path, *pair, bound)
        values += not (_is_none(pair) or path in partly)
        worst = _worse(worst, leaf)
        kind = _kind(leaf, known=one.outcome.floats_put)
        if kind is not None:
            text = leaf.problem or leaf.undecided or ""
            unknown = kind == "undecided" and leaf.problem is not None
            found[kind][path] = text.removeprefix(f"{path}: ") + (_UNKNOWN if unknown else "")
    for path, reason in partly.items():
        if path not in found["problems"] and reason_of(path) is None:
            found["left"][path] = reason
    if not found["problems"]:
        one_described, other_described = [
            Described(side.structure, (*side.whole, *side.apart)) for side in (left, right)
        ]
        differing = unlike(one_described, other_described, lambda path: reason_of(path) is not None)
        if differing is not None:
            found["problems"]["result"] = f"the results have different structures: {differing}"
    return Across(values, worst, **found)


def _exemptions(one: Side, other: Side, patterns: Mapping[str, str]) -> Callable[[str], str | None]:
    """Returns a function that returns why a value, or a container, is exempt; None for one that is not."""
    sides = [(side.meaning.first, dict(side.outcome.exempt)) for side in (one, other)]

    def reason_of(path: str) -> str | None:
        # What is exempt has a path with the replica where one replica's value is, and without it for a variable.
        for firsts, reasons in sides:
            for known in dict.fromkeys((firsts.get(path, path), path)):
                reason = reason_for(known, reasons, patterns)
                if reason is not None:
                    return reason
        return None

    return reason_of


_UNKNOWN: Final = "; no run with inputs moved by one ulp shows how far rounding moves it"


def _kind(leaf: Comparison, *, known: bool) -> str | None:
    if leaf.problem is not None:
        return "problems" if known or not leaf.distance <= _UNKNOWN_MAX else "undecided"
    return None if leaf.undecided is None else "undecided"


def _is_none(pair: tuple[Host, Host]) -> bool:
    """Returns whether both values are None: what a program returns that returns nothing."""
    return all(value.dtype.kind == "U" and value.ndim == 0 and str(value) == "None" for value in pair)


def _worse(one: Comparison, other: Comparison) -> Comparison:
    equal_bits = one.equal_bits and other.equal_bits
    larger = other if other.distance * one.one_ulp >= one.distance * other.one_ulp and not other.equal_bits else one
    return larger._replace(equal_bits=equal_bits)


class _NoPair(NamedTuple):
    """Why two values are not compared.  lawful: whether that is no fault of the program."""

    text: str
    lawful: bool


def _advice(path: str, pair: _NoPair, one: Side, other: Side) -> str:
    """Returns what to do about a value that is not compared and that should be; "" for another one."""
    if pair.text == ITS_OWN and any(path in side.outcome.named for side in (one, other)):
        return _REDUCE
    is_state = any(kind.path == path for side in (one, other) for kind in side.outcome.variables)
    return _COUNTER if pair.text == THE_COUNT and is_state else ""


class _Copies(NamedTuple):
    """The copies of a value that replicas should have alike, each beside one of the other run."""

    pairs: tuple[tuple[Host, Host], ...]
    names: tuple[str, ...]


def _copies(path: str, one: Side, other: Side) -> _Copies | _NoPair | None:
    """Returns what is compared of a value of which the replicas' copies are not equal; None for another value."""
    left, right = [side.meaning.values(path) for side in (one, other)]
    if not left or not right or not any(path in side.meaning.copies for side in (one, other)):
        return None
    if len({value.shape for value in (*left, *right)}) > 1:
        return _NoPair(ITS_OWN, lawful=True)
    if len(left) == len(right) == 1:
        return None  # all copies of each run are equal
    pairs = [(left[0], value) for value in right] + [(value, right[0]) for value in left[1:]]
    names = [f"replica {rank}" for rank in range(len(right))] + [f"replica {rank}" for rank in range(1, len(left))]
    return _Copies(tuple(pairs), tuple(names))


def _worst_copy(path: str, copies: _Copies, bound: LeafSensitivity) -> Comparison:
    """Compares all copies; returns the comparison of the one that is farthest from the other run's value."""
    found = [
        compare_leaf(f"{path} on {name}", *pair, bound) for name, pair in zip(copies.names, copies.pairs, strict=True)
    ]
    worst = max(found, key=lambda one: (one.problem is not None, one.undecided is not None, one.distance))
    texts = [text and text.removeprefix(f"{path} ") for text in (worst.problem, worst.undecided)]
    return worst._replace(problem=texts[0], undecided=texts[1])


def _pair(path: str, one: Side, other: Side) -> tuple[Host, Host] | _NoPair:
    """Returns two values of one form to compare, or why there are none."""
    sides, counts = (one, other), (one.replicas, other.replicas)
    for side, missing in zip(sides, (other, one), strict=True):
        if not missing.meaning.values(path):
            if path in missing.meaning.missing:
                return _NoPair(missing.meaning.missing[path], lawful=True)
            where = f"with {counted(side.replicas)}" if counts[0] != counts[1] else "in one of the two runs"
            return _NoPair(f"it is in the result {where} only", lawful=False)
    joined = [_joined(side.meaning.values(path)) for side in sides]
    left, right = joined
    if left is None or right is None:
        return _NoPair(ITS_OWN, lawful=True)
    apart = any(path in side.meaning.apart for side in sides)
    if left.shape != right.shape:
        by_replica = left.ndim and right.ndim and left.shape[1:] == right.shape[1:]
        own = apart or (by_replica and counts[0] != counts[1] and (left.shape[0], right.shape[0]) == counts)
        return _NoPair(ITS_OWN, lawful=True) if own else (left, right)
    if _names_the_count(left, right, counts):
        return _NoPair(THE_COUNT, lawful=True)
    return _in_one_order(left, right) if apart else (left, right)


def _joined(parts: Sequence[Host]) -> Host | None:
    """Returns a value, or the replicas' parts [rows, …] as one array; None for values that are no parts of one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if not first.ndim or any(part.dtype != first.dtype or part.shape[1:] != first.shape[1:] for part in parts):
        return None
    joined: Host = np.concatenate(parts)
    return joined


def _in_one_order(one: Host, two: Host) -> tuple[Host, Host]:
    """Returns two arrays [rows, …] with their rows sorted, if they are alike then and not as they are.

    Replicas may take the rows of a batch by turns, so the rows of their parts come in another order.
    """
    if not (one.ndim and is_float(one) and is_float(two)) or _alike(one, two):
        return one, two
    rows = [np.lexsort(array.reshape(len(array), -1).T[::-1]) if array.size else slice(None) for array in (one, two)]
    ordered = (one[rows[0]], two[rows[1]])
    return ordered if _alike(*ordered) else (one, two)


def _alike(one: Host, two: Host) -> bool:
    return np.allclose(one, two, rtol=1e-3, atol=0.0, equal_nan=True)


def _names_the_count(one: Host, two: Host, counts: tuple[int, int]) -> bool:
    """Returns whether a number or a text [] is, or names, the number of replicas in both."""
    if one.ndim or two.ndim or counts[0] == counts[1]:
        return False
    if one.dtype.kind in "iu" and two.dtype.kind in "iu":
        return (int(one), int(two)) == counts
    if one.dtype.kind == two.dtype.kind == "U":
        texts = [re.sub(rf"\b{count}\b", "N", str(text)) for text, count in zip((one, two), counts, strict=True)]
        return str(one) != str(two) and texts[0] == texts[1]
    return False


def _moved(path: str, one: Side, other: Side) -> LeafSensitivity:
    """Returns how far rounding moves a value in either of two runs, relative to what their distance is relative to."""
    leaves = [_leaf(path, side) for side in (one, other)]
    found = [_moves(path, side, leaf) for side, leaf in zip((one, other), leaves, strict=True)]
    if all(map(is_float, leaves)) and np.any(leaves[0]) != np.any(leaves[1]):
        # One run gives nothing but zeros: its moves are absolute, and those of the other one are not. Where the first
        # one does, the distance is absolute as well, and what is small there may still be noise: both count.
        scaled = found[1].in_scale(scale(leaves[1]), scale(leaves[0]))
        found = [found[0], scaled] if np.any(leaves[0]) else [*found, scaled]
    return _larger(found)


def _leaf(path: str, side: Side) -> Host:
    leaf = _array(path, side, side.meaning)
    assert leaf is not None
    return leaf


def _array(path: str, side: Side, meaning: Meaning) -> Host | None:
    """Returns a value as one array: of a run of a side, or of a nudged one; None for what is not one there."""
    values = meaning.values(path)
    if not values:
        return None
    return values[0] if path in side.meaning.copies else _joined(values)


def _moves(path: str, side: Side, leaf: Host) -> LeafSensitivity:
    """Returns how far rounding moves a value: as nudged runs show, and as another order of additions may."""
    others = [_array(path, side, one) for one in side.nudged]
    found = sensitivity_of(leaf, side.meaning.computed[path], [one for one in others if one is not None])
    found = found.at_least(max(found.unit, min(_REORDERED * found.unit, _REORDERED_MAX)))
    resolution = dict(side.outcome.resolutions).get(path)  # of a number that was read from a text
    return found.at_least(resolution / ((abs(float(leaf)) or 1.0) * MARGIN)) if resolution else found


def _larger(found: Sequence[LeafSensitivity]) -> LeafSensitivity:
    bounds = [max(parts) for parts in zip(*[one[:3] for one in found], strict=True)]
    measured = [
        max([move for move in moves if move is not None], default=None)
        for moves in zip(*[(one.measured_max, one.measured_square) for one in found], strict=True)
    ]
    return LeafSensitivity(*bounds, *measured)
