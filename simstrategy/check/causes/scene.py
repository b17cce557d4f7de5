"""What a recogniser of a kind looks at: one point, and all others of both runs."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from simstrategy.check.causes.combination import Combination
from simstrategy.check.causes.facts import Host, Leaves, PointFacts
from simstrategy.check.causes.rounding import all_alike, wide

__all__ = ["Scene"]

_NEAR: Final = 1e-5
"""How near a multiple, or a squared norm, has to be, relatively."""


class Scene(NamedTuple):
    """one: the point where the runs begin to differ. reference, other: all points of both runs, in order.

    kept: the value of the other run, kept by the program, that differs in the end; None where none is recorded.
    made: how many steps the other program makes, where not all are recorded; 0 where they are. are_meant: whether
    replicas bring the same though their examples are shared out, or all have the reference's: equal terms show nothing.
    """

    one: Combination
    reference: Sequence[PointFacts]
    other: Sequence[PointFacts]
    kept: PointFacts | None = None
    made: int = 0
    are_meant: bool = False

    @property
    def steps(self) -> int:
        """The number of steps of the other run."""
        return self.made or max([point.step for point in self.other], default=0)

    def same_place(self) -> Iterator[PointFacts]:
        """Yields the points of the other run that are made at the same line, about the same subject."""
        place = _place(self.one.other)
        for point in self.other:
            if _place(point) == place and point.inputs:
                yield point

    def neighbours(self) -> Iterator[tuple[PointFacts, PointFacts]]:
        """Yields the other pairs of points of the step that both runs have, in order of the reference."""
        step = self.one.other.step
        others = {_place(point): point for point in self.other if point.step == step}
        for point in self.reference:
            found = others.get(_place(point))
            if point.step == step and found is not None and _place(point) != _place(self.one.other):
                yield point, found

    def lines_before(self) -> Iterator[tuple[Host, Host]]:
        """Yields the whole arrays of lines in the step, before the point, of both runs as far as their lines agree."""
        step = self.one.other.step
        expected, found = [
            [point for point in points if point.step == step and not point.inputs and len(point.outputs) == 1]
            for points in (self.reference, self.other)
        ]
        for one, other in zip(expected, found, strict=False):
            if _place(one) != _place(other) or other is self.one.other:
                return
            yield one.outputs[0], other.outputs[0]

    def has_earlier_point(self) -> bool:
        """Returns whether a point of the same step has combined values before this one."""
        return any(point.outputs and point.step == self.one.other.step and not point.kept for point in self._earlier())

    def was_combined_before(self, leaves: Leaves) -> tuple[PointFacts, str] | None:
        """Returns the earlier point that gave a multiple of these leaves [any shape], or their root; and which."""
        for point in self._earlier():
            if point.step != self.one.other.step or not point.outputs or len(point.inputs) != self.one.replicas:
                continue
            if len(point.outputs) == len(leaves) and _is_multiple(leaves, _shaped(point.outputs, leaves)):
                return point, "what was combined"
            squares = np.asarray([float(np.sum(wide(leaf) ** 2)) for leaf in point.outputs])
            for meant in (squares, np.sum(squares, keepdims=True)):
                if len(leaves) == 1 and leaves[0].size == meant.size and _is_near(wide(leaves[0]).reshape(-1), meant):
                    return point, "the squared norm of what was combined"
        return None

    def _earlier(self) -> Iterator[PointFacts]:
        for point in self.other:
            if point is self.one.other:
                return
            yield point


def _is_near(one: Host, other: Host) -> bool:
    return bool(other.any() and np.abs(one - other).max() <= _NEAR * np.abs(other).max())


def _is_multiple(leaves: Leaves, others: Leaves) -> bool:
    """Returns whether leaves are one number times the others; single numbers have to be equal."""
    if all_alike(others, leaves, tuple([0.0] * len(leaves))):
        return True
    if sum(leaf.size for leaf in leaves) < 2 or [one.shape for one in leaves] != [one.shape for one in others]:
        return False
    left, right = [np.concatenate([wide(leaf).reshape(-1) for leaf in nest]) for nest in (leaves, others)]
    size = float(right @ right) if right.dtype.kind == "f" else 0.0
    if not size or not np.isfinite(left).all() or not np.isfinite(size):
        return False
    return bool(np.abs(left - right * float(left @ right) / size).max() <= _NEAR * np.abs(left).max())


def _shaped(leaves: Leaves, like: Leaves) -> Leaves:
    """Returns leaves in the shapes of others that have as many elements: a combined value may be reshaped."""
    return tuple(
        [one.reshape(two.shape) if one.size == two.size else one for one, two in zip(leaves, like, strict=True)]
    )


def _place(point: PointFacts) -> tuple[str, str, str | None]:
    return point.site, point.what, point.subject
