"""The additions of a synchronisation point one by one, in their order, with every partial sum.

They are computed from what the replicas brought, by the simulator's orders of additions, and shown only where they give
the recorded result to the bit.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from simstrategy.player.values import element_text
from simstrategy.sim import ORDERS
from simstrategy.trace import Recording, SyncPoint, Value, VariableWrite

__all__ = ["Additions", "ElementSum", "additions_of"]

Host = np.ndarray[Any, Any]
Tree: TypeAlias = Any
"""A rank, or a pair of trees whose values are added."""

_ELEMENTS: Final = 4
_LEAVES: Final = 8
_RANKS_MAX: Final = 256
_SIZE_MAX: Final = 65_536
_MOVED_MAX: Final = 64
_STEPS_MAX: Final = 120_000
"""Partial sums of one page."""
_MEANS: Final = ("MEAN", "AVG")
"""Operations that divide a sum; AVG is torch's name."""
_ADDS: Final = ("SUM", *_MEANS)
_KINDS: Final = ("all_reduce", "reduce", "assign", "assign_add", "assign_sub")


class ElementSum(NamedTuple):
    """The sum of one element.

    leaf, element: which one. terms: the text of each rank's element. steps: left and right operand of each addition and
    the text of its result; an operand is a rank, or -1, -2 … for the result of the first step, the second … . total:
    the text of what comes out, after a division by `divided_by` where that is not None.
    """

    leaf: int
    element: int
    terms: tuple[str, ...]
    steps: tuple[tuple[int, int, str], ...]
    total: str
    divided_by: int | None


class Additions(NamedTuple):
    """The additions of one point.  order: their order. sums: of the first elements.

    own: whether each term is a sum itself, that of the replica's own array along the axis. left: why none are shown, or
    None. movable: whether a page can add the terms in another order, to the bit: they are few, of float32, and their
    texts have their bits there. ranks: whose terms they are, where some ranks take no part; else ().
    """

    order: str
    sums: tuple[ElementSum, ...]
    own: bool
    left: str | None
    movable: bool = False
    ranks: tuple[int, ...] = ()


def additions_of(recording: Recording) -> dict[int, Additions]:
    """Returns the additions of each point that adds up, by its number."""
    writes = {write.point: write for write in recording.writes if write.point is not None}
    stated = recording.header.get("order")
    orders = [stated] if stated in ORDERS else list(ORDERS)
    found: dict[int, Additions] = {}
    steps = 0
    for points in recording.together():
        first = points[0]
        if first.kind not in _KINDS or first.op not in _ADDS or any(not point.outputs for point in points):
            continue
        if steps > _STEPS_MAX:
            one = _left("The page has the additions of earlier points only: more of them would make it too large.")
        else:
            one = _first_that_fits(points, writes, orders)
        steps += sum(len(each.steps) for each in one.sums)
        found |= {point.number: one for point in points}
    return found


def _left(reason: str) -> Additions:
    return Additions("", (), own=False, left=reason)


def _first_that_fits(points: Sequence[SyncPoint], writes: dict[int, VariableWrite], orders: Sequence[str]) -> Additions:
    """Returns the additions in the first order that gives the recorded bits."""
    # Of a cluster every worker records its own part of the point.
    rows = [row for point in points for row in point.inputs]
    reason = _reason_to_leave(points[0], rows)
    if reason is not None:
        return _left(reason)
    for order in orders:
        fits = _comparison(points, writes)
        with np.errstate(all="ignore"):
            sums = tuple(_sums(points[0], rows, order))
            is_recorded = bool(sums) and all(fits(one, total) for one, total in sums)
        if is_recorded:
            own = points[0].axis is not None
            shown = tuple(one for one, _ in sums)
            ranks = _ranks(points[0]) if len(points) == 1 else ()
            return Additions(order, shown, own=own, left=None, movable=_is_movable(rows, shown), ranks=ranks)
    return _left(
        "The recorded result is not that of an addition in the order of ranks, in a ring or a tree: equal values were "
        "taken as one, or the backend adds in another order."
    )


def _ranks(point: SyncPoint) -> tuple[int, ...]:
    """Returns the ranks of a point, in order, where they are not those from 0 on."""
    ranks = sorted(rank for rank in point.replicas if rank is not None)
    is_other = len(ranks) == len(point.inputs) and ranks != list(range(len(ranks)))
    return tuple(ranks) if is_other else ()


def _is_movable(rows: Sequence[Sequence[Value]], sums: Sequence[ElementSum]) -> bool:
    if len(rows) > _MOVED_MAX or any(value.dtype != "float32" for value in rows[0]):
        return False
    # The page reads a text as a float64 and rounds that.
    return all(element_text(np.float32(float(text))) == text for one in sums for text in one.terms)


def _reason_to_leave(point: SyncPoint, rows: Sequence[Sequence[Value]]) -> str | None:
    """Returns why the additions of a point are not shown, where that is known before they are computed."""
    if len({len(row) for row in rows}) != 1 or not rows[0]:
        return "The replicas brought no arrays that could be added here."
    if len(rows) == 1:
        return "One replica alone has nothing to add."
    if len(rows) > _RANKS_MAX:
        return f"Additions of more than {_RANKS_MAX} replicas are not shown."
    if any(value.dtype in ("bfloat16", "text") or not value.digest for row in rows for value in row):
        return "Additions of this dtype, or of arrays without a recorded value, are not shown."
    if point.axis is None and point.kind == "reduce" and (point.subject or "").startswith("("):
        return "Each replica's array is summed along several axes before; these sums are not shown."
    return None


def _comparison(points: Sequence[SyncPoint], writes: dict[int, VariableWrite]) -> Callable[[ElementSum, Any], bool]:
    """Returns what compares a sum, with its total as a number, with what was recorded."""
    point = points[0]
    write = writes.get(point.number)

    def fits(one: ElementSum, total: Any) -> bool:
        made = total
        if point.kind.startswith("assign"):
            if write is None or not write.after or not write.before:
                return False
            old = _elements(write.before[0])[one.element]
            made = {"assign": total, "assign_add": old + total, "assign_sub": old - total}[point.kind]
            recorded = _elements(write.after[0])
        else:
            row = next((row for row in point.outputs if row), ())  # of one replica alone, where it is the root
            if one.leaf >= len(row):  # a damaged recording
                return False
            recorded = _elements(row[one.leaf])
        return one.element < len(recorded) and _same(made, recorded[one.element])

    return fits


def _same(one: Any, other: Any) -> bool:
    first, second = np.asarray(one), np.asarray(other)
    return first.dtype == second.dtype and (
        first.tobytes() == second.tobytes() or bool(first != first and other != other)
    )


def _sums(point: SyncPoint, rows: Sequence[Sequence[Value]], order: str) -> Iterator[tuple[ElementSum, Any]]:
    """Yields the sum of each element that is shown, and its total as a number."""
    for leaf in range(min(len(rows[0]), _LEAVES)):
        column = [row[leaf] for row in rows]
        arrays = _terms(point, column)
        if not arrays:
            return
        size = int(np.prod([size or 0 for size in column[0].shape])) if point.axis is None else arrays[0].size
        if order == "ring" and size > _SIZE_MAX:
            return
        count = None if point.op not in _MEANS else len(rows) if point.axis is None else _rows_of(column, point.axis)
        for element, tree in enumerate(_trees(order, len(rows), size, min(size, _ELEMENTS, *map(len, arrays)))):
            yield _evaluated(leaf, element, tree, [array[element] for array in arrays], count)


def _terms(point: SyncPoint, column: Sequence[Value]) -> list[Host]:
    """Returns what each rank adds, flat; [] where it is not recorded."""
    if point.axis is None:
        return [_elements(value) for value in column]
    if any(value.array is None for value in column):
        return []
    arrays = [value.array for value in column if value.array is not None]
    return [np.asarray(np.sum(one, axis=point.axis, dtype=one.dtype)).reshape(-1) for one in arrays]


def _rows_of(column: Sequence[Value], axis: int) -> int:
    return sum(value.shape[axis] or 0 for value in column)


def _elements(value: Value) -> Host:
    return value.first if value.array is None else value.array.reshape(-1)


@lru_cache(maxsize=256)
def _trees(order: str, ranks: int, size: int, shown: int) -> tuple[Tree, ...]:
    """Returns in which order the first elements of arrays [size] of so many ranks are added."""
    count = size if order == "ring" else shown
    arrays = []
    for rank in range(ranks):
        array = np.empty(count, object)
        array[:] = rank
        arrays.append(array)
    pair = np.frompyfunc(lambda left, right: (left, right), 2, 1)
    return tuple(ORDERS[order](arrays, pair)[:shown].tolist())


def _evaluated(leaf: int, element: int, tree: Tree, terms: Sequence[Any], count: int | None) -> tuple[ElementSum, Any]:
    """Adds up one element."""
    steps: list[tuple[int, int, str]] = []

    def value_of(node: Tree) -> tuple[int, Any]:
        if isinstance(node, int):
            return node, terms[node]
        (left, one), (right, other) = value_of(node[0]), value_of(node[1])
        made = np.add(one, other)
        steps.append((left, right, element_text(made)))
        return -len(steps), made

    _, total = value_of(tree)
    if count is not None:
        total = np.divide(total, total.dtype.type(count)) if total.dtype.kind in "fc" else total / count
    texts = tuple(element_text(term) for term in terms)
    return ElementSum(leaf, element, texts, tuple(steps), element_text(total), count), total
