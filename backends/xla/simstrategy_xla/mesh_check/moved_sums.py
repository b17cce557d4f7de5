"""A second look at two runs that differ: may what rounding leaves of sums whose terms cancel explain it?

Both run again with such elements moved, where that may matter.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import final

import numpy as np

from simstrategy.check.compare import paths
from simstrategy.check.distances import distances, is_float
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, compared
from simstrategy_xla.mesh_check.jobs import Found
from simstrategy_xla.mesh_check.processes import Failure
from simstrategy_xla.mesh_check.program_jobs import ProgramJobs
from simstrategy_xla.mesh_check.records import Records, moved_runs

__all__ = ["MovedSums", "also_moved"]

ToOutcome = Callable[[Found | Failure], Outcome]


@final
class MovedSums:
    """The runs of one program with moved sums, made once for each number of devices.

    outcome: makes an outcome of what a run gave. exempt: as of `Settings`.
    """

    def __init__(self, jobs: ProgramJobs, records: Records, outcome: ToOutcome, exempt: Mapping[str, str]) -> None:
        self._jobs = jobs
        self._records = records
        self._outcome = outcome
        self._exempt = exempt
        self._made: dict[int, Measured] = {}

    def both(self, one: Measured, other: Measured, counts: tuple[int, int]) -> tuple[Measured, Measured]:
        """Returns two runs that differ, on these numbers of devices: with more nudged runs where these may matter."""
        if counts[0] != counts[1] and not self._may_explain(one, other, counts):
            return one, other
        return self._moved(one, counts[0]), self._moved(other, counts[1])

    def _may_explain(self, one: Measured, other: Measured, counts: tuple[int, int]) -> bool:
        """Returns whether moved sums may explain a difference; True where it is not known.

        Both runs compute the same in exact arithmetic. What cancels in a sum of one device of the other run cancels in
        the reference too, which leaves something small there, or exactly zero. Both move in its recorded runs: what
        these do not explain, moved sums do not. What cancels between devices may cancel in the reference in single
        additions, which nothing moves.
        """
        reference = self._records.reference(counts[0])
        if reference is None:
            return True
        moved = [self._outcome(found) for found in reference.moved]
        widest = also_moved(one, moved)
        known = len(widest.nudged) == len(one.nudged) + len(moved)
        if not known or not all(_set_a_bound(one.first, found) for found in moved):
            return True
        plain, explained = [compared(found, other, counts, self._exempt).problems for found in (one, widest)]
        return plain.keys() != explained.keys() or self._records.may_cancel(counts[1])

    def _moved(self, measured: Measured, count: int) -> Measured:
        if count not in self._made:
            moved = self._jobs.made(*moved_runs(self._jobs.run(count)))
            self._made[count] = also_moved(measured, map(self._outcome, moved))
        return self._made[count]


def also_moved(measured: Measured, moved: Iterable[Outcome]) -> Measured:
    """Returns what is known of a program with those nudged runs that end as its run does, with the same leaves."""
    first = measured.first
    return measured.also_nudged([one for one in moved if one.error == first.error and paths(one) == paths(first)])


def _set_a_bound(one: Outcome, moved: Outcome) -> bool:
    """Returns whether floats of a moved run with the same leaves have finite distances, so that all of them count."""
    pairs = [(first, second) for (_, first), (_, second) in zip(one.leaves, moved.leaves, strict=True)]
    return all(
        (first.shape, first.dtype) == (second.shape, second.dtype) and np.isfinite(distances(first, second)[0])
        for first, second in pairs
        if is_float(first)
    )
