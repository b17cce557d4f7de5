"""Runs of a program of a mesh whose values are recorded, and what they show: why two runs differ, what diverged.

They are made where a law is broken, or may be, and never in other checks.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar, final

import numpy as np

from simstrategy.check.causes.alignment import aligned
from simstrategy.check.causes.explaining import explain
from simstrategy.check.causes.facts import Cause, PointFacts
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.units import units_of
from simstrategy.check.causes.varied import Arguments
from simstrategy.check.compare import NUDGES
from simstrategy.check.distances import is_float
from simstrategy_xla.mesh_check.calls import Parts
from simstrategy_xla.mesh_check.cancelling import cancel_in
from simstrategy_xla.mesh_check.jobs import Found, Run, digest_of
from simstrategy_xla.mesh_check.points import Facts, facts_of
from simstrategy_xla.mesh_check.processes import Failure
from simstrategy_xla.mesh_check.program_jobs import ProgramJobs, watched
from simstrategy_xla.mesh_check.recorded import places_of
from simstrategy_xla.mesh_check.transposed import with_transposed_sum

__all__ = ["Records", "Reference", "moved_runs"]

T = TypeVar("T")

_NO_RECORD: Final = "The cause is not recognised: the program ends where the values of its collectives are recorded."


class Reference(NamedTuple):
    """Recorded runs on one number of devices.  moved: with moved sums; those that are exactly zero move too."""

    plain: Found
    moved: tuple[Found, ...]


def moved_runs(plain: Run, *, zeros: bool = False) -> tuple[Run, ...]:
    """Returns a run with moved sums, in two patterns.  zeros: whether sums that are exactly zero move too."""
    return tuple([plain._replace(nudge=pattern, sums=True, zeros=zeros) for pattern in NUDGES[:2]])


@final
class Records:
    """The recorded runs of one program; a reference is made once.

    firsts: what the first run on a number of devices gave, where it was made.
    """

    def __init__(self, program: Callable[..., Any], jobs: ProgramJobs, firsts: Mapping[int, Found | Failure]) -> None:
        self._program = program
        self._jobs = jobs
        self._firsts = firsts
        self._references: dict[tuple[int, bool], Reference | None] = {}
        self._plains: dict[tuple[int, bool], Found | None] = {}
        """Plain runs, by devices, and whether lines are recorded, until `explain` has used them."""
        self._with_lines = True
        """Whether lines are recorded: no more once such a process has ended."""
        self._again: dict[int, Found | Failure] = {}
        """What the second run gave, by devices: most are made in the processes of `_plains`."""

    def reference(self, replicas: int) -> Reference | None:
        """Returns the runs on a number of devices, with as much recorded as their process can; None where nothing."""
        return self._as_much_as_can_be(partial(self._reference, replicas))

    def one(self, run: Run) -> Found | None:
        """Returns one run, with as much recorded as its process can; None where nothing."""
        return self._as_much_as_can_be(partial(self._one, run))

    def diverged(self, replicas: int) -> dict[str, bool]:
        """Returns the paths of results that hold state which began equal on all of so many devices, and ends otherwise.

        Of each, whether anything but its own next value is computed with it.

        State and results are those of one run: a run that is not recorded rounds otherwise, since XLA fuses operations
        that a record keeps apart.
        """
        found = self._as_much_as_can_be(partial(self._plain, replicas))
        states = () if found is None else _facts(found).diverged
        leaves = found.contents.leaves if states and found is not None else ()
        held = {path: [one.partakes for one in states if _is_held(leaf, one.last)] for path, leaf in leaves}
        return {path: any(partake) for path, partake in held.items() if partake}

    def again(self, replicas: int) -> Found | Failure:
        """Returns what a second run gives: the recorded one, where it gives what the first one did, or one more."""
        if replicas not in self._again and isinstance(self._firsts.get(replicas), Found):
            self._as_much_as_can_be(partial(self._plain, replicas))
        if replicas not in self._again:
            self._again[replicas] = self._jobs.made(self._jobs.run(replicas))[0]
        return self._again[replicas]

    def may_cancel(self, replicas: int) -> bool:
        """Returns whether terms of so many devices cancel in a sum of a collective; True where it is not known."""
        found = self._as_much_as_can_be(partial(self._plain, replicas))
        return found is None or found.record is None or cancel_in(found.record)

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause:
        """Runs the program again, and returns why it differs from the reference.

        counts: the numbers of devices of both. arguments: of the other run.
        """
        both = self._as_much_as_can_be(partial(self._both, counts, arguments))
        if both is None:
            return Cause(None, None, None, None, None, _NO_RECORD, certain=False)
        return self._explained(*both, counts, self._jobs.arguments(arguments))

    def _both(
        self, counts: tuple[int, int], arguments: Mapping[str, Any], *, lines: bool
    ) -> tuple[Reference, Found] | None:
        reference = self._reference(counts[0], lines=lines)
        if reference is None:
            return None
        if arguments:
            found = self._one(self._jobs.run(counts[1], arguments), lines=lines)
        else:
            found = self._plain(counts[1], lines=lines)
        if found is None:
            return None
        self._plains.pop((counts[1], lines), None)  # large
        return reference, found

    def _explained(self, reference: Reference, found: Found, counts: tuple[int, int], given: Arguments) -> Cause:
        one, other = _facts(reference.plain), _facts(found)
        units = units_of(one.points, [_facts(moved).points for moved in reference.moved])
        of_both = partial(explain, units=units, counts=counts, named=Named(one.named, other.named), arguments=given)
        cause = self._of_results(reference, found, counts, given)
        if cause is None:
            cause = of_both(one.points, other.points)
        if cause.site is None:  # the first device may hold the reference's value, and another one does not
            cause = of_both(one.points, other.elsewhere)
        if cause.site is None:
            ends = [_results(run, facts) for run, facts in ((reference.plain, one), (found, other))]
            cause = of_both([*one.points, *ends[0]], [*other.points, *ends[1]])
        cause = with_transposed_sum(cause, one.transposed, other.transposed, counts)
        places = places_of(found, self._program, counts[1])
        number = cause.number
        return cause._replace(number=places[number] if number is not None and 0 <= number < len(places) else None)

    def _of_results(
        self, reference: Reference, found: Found, counts: tuple[int, int], given: Arguments
    ) -> Cause | None:
        """Returns the cause of the results that differ where others agree; None where that is not so, or not certain.

        What an optimizer divides by its size again differs in all steps, with an effect on no parameter: what else is
        returned, such as a loss, shows where it began.
        """
        runs = [_with_results(run) for run in (reference.plain, found, *reference.moved)]
        one, other, *moved = runs
        if any(point.kept for point in other if point.what != "result"):
            return None
        units = units_of(one, moved)
        pairs = aligned(one, other, units, counts)
        ends = [(pair.one, pair.differs) for pair in pairs if pair.one is not None and pair.place[1] == "result"]
        if len({differs for both, differs in ends if is_float(both.expected[0])}) < 2:
            return None
        cause = explain(one, other, units=units, counts=counts, arguments=given)
        return cause if cause.certain and cause.site else None

    def _as_much_as_can_be(self, make: Callable[..., T | None]) -> T | None:
        """Returns what `make` gives with recorded lines; without them where that is None, and ever after."""
        if self._with_lines:
            found = make(lines=True)
            if found is not None:
                return found
            self._with_lines = False
        return make(lines=False)

    def _plain(self, replicas: int, *, lines: bool) -> Found | None:
        key = (replicas, lines)
        if key not in self._plains:
            self._plains[key] = self._recorded(replicas, lines=lines)
        return self._plains[key]

    def _recorded(self, replicas: int, *, lines: bool) -> Found | None:
        run, first = self._jobs.run(replicas), self._firsts.get(replicas)
        if replicas in self._again or not isinstance(first, Found):
            ends = isinstance(self.again(replicas), Failure)  # so it ends with a record too
            return None if ends else self._one(run, lines=lines)
        second = run._replace(known=digest_of(first))
        (found,), (again,) = self._jobs.made_in_turn([watched(run, lines=lines)], [second])
        if isinstance(found, Failure):
            return None
        self._again[replicas] = again
        return found

    def _one(self, run: Run, *, lines: bool) -> Found | None:
        found = self._jobs.recorded(run, lines=lines)
        return None if found is None else found[0]

    def _reference(self, replicas: int, *, lines: bool) -> Reference | None:
        key = (replicas, lines)
        if key not in self._references:
            plain = self._jobs.run(replicas)
            found = self._jobs.recorded(plain, *moved_runs(plain, zeros=True), lines=lines)
            self._references[key] = None if found is None else Reference(found[0], found[1:])
        return self._references[key]


def _facts(found: Found) -> Facts:
    assert found.record is not None
    return facts_of(found.record)


def _with_results(found: Found) -> list[PointFacts]:
    facts = _facts(found)
    return [*facts.points, *_results(found, facts)]


def _is_held(leaf: np.ndarray[Any, Any], state: Parts) -> bool:
    """Returns whether the rows of an array [devices, …] are what the devices hold of a state in the end."""
    return leaf.shape[:1] == (len(state),) and all(
        row.dtype == one.dtype and row.tobytes() == one.tobytes() for row, one in zip(leaf, state, strict=True)
    )


def _results(found: Found, facts: Facts) -> Iterator[PointFacts]:
    """Yields the results of a run as values that the program keeps."""
    step = max([point.step for point in facts.points], default=0)
    for path, leaf in found.contents.leaves:
        if leaf.dtype.kind in "biuf":
            copies = found.unequal.get(path, ())
            terms = tuple([(copy,) for copy in copies])
            yield PointFacts(step, "", "result", path, None, terms, (leaf,), kept=True, own=bool(copies))
