"""The runs of one program of a mesh on several numbers of host devices, as the laws of the core need them.

All numbers run at the first request, one after the other. The first one runs twice in its process, and nudged in
another one; another number runs again where its run raises or differs. Values inside of the program are recorded where
a law is broken alone, by runs of their own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, final

import numpy as np

from simstrategy.check.causes.explaining import explain
from simstrategy.check.causes.facts import Cause, PointFacts
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.units import units_of
from simstrategy.check.checkpoint import Checkpoint
from simstrategy.check.compare import NUDGES, paths, sensitivity
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.check.processes import location_of
from simstrategy.check.runs import Measured, Settings, agree
from simstrategy.check.shown import Way
from simstrategy.errors import Unsupported
from simstrategy.schedules import InOrder
from simstrategy.trace import Recorder, Recording
from simstrategy_xla.mesh_check.jobs import Found, Job, Run
from simstrategy_xla.mesh_check.outcomes import failed, outcome_of
from simstrategy_xla.mesh_check.points import Diverged, Facts, facts_of
from simstrategy_xla.mesh_check.processes import Failure, Processes
from simstrategy_xla.mesh_check.recorded import places_of, recorded_run
from simstrategy_xla.mesh_check.transposed import with_transposed_sum

__all__ = ["MeshRuns"]

_EXPLAINED_NUDGES: Final = NUDGES[:2]
"""Patterns of the nudged runs that measure how far rounding moves what is recorded."""

_NO_RECORD: Final = "The cause is not recognised: the program ends where the values of its collectives are recorded."


@final
class MeshRuns:
    """The runs of `program(mesh)`.  It satisfies `simstrategy.check.runs.RepeatedRuns`.

    axes: the names of the mesh's axes. Raises InvalidArgument for a program that is no function of a file.
    """

    reference = "jax"
    has_reference = True
    schedule = InOrder.name

    def __init__(
        self, program: Callable[..., Any], axes: Sequence[str], replicas: Sequence[int], settings: Settings
    ) -> None:
        self.program = program
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = settings
        self.notes: list[str] = []
        self._place = location_of(program)
        self._axes = tuple(axes)
        self._processes = Processes()
        self._found: dict[int, Found | Failure] = {}
        self._rows: frozenset[str] = frozenset()
        self._state: frozenset[str] = frozenset()
        self._measured: dict[int, Measured] = {}
        self._moved_sums: dict[int, Measured] = {}
        self._watched: dict[int, tuple[Found, ...]] = {}
        """Runs of a reference with recorded values: a plain one, and nudged ones."""

    def close(self) -> None:
        self._processes.close()

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program on a number of devices; runs it on all of them at the first call."""
        if not self._measured:
            self._measure()
        return self._measured[replicas]

    def made(self) -> Mapping[int, Measured]:
        return self._measured

    def with_rounding(self, replicas: int) -> Measured:
        """Returns what `measured` does, for any number of devices, with nudged runs where it does not raise."""
        if not self._measured:
            self._measure()
        found = self._measured.get(replicas) or self._measure_twice(replicas)
        if not found.nudged and found.first.error is None:
            found = self._nudged(found, replicas)
        self._measured[replicas] = found
        return found

    def job(self, replicas: int) -> Job:
        """Returns what a process is given to run the program once."""
        return self._job(replicas, [Run(self._given({}), tuple(range(replicas)))])

    @property
    def rows(self) -> frozenset[str]:
        """The paths of arrays with a row for each device, in every run that was made."""
        return self._rows

    @property
    def state(self) -> frozenset[str]:
        """The paths of those of `rows` that must be equal on all devices."""
        return self._state

    def recorded(self, replicas: int) -> Recording:
        """Returns a recording without values: they are recorded for causes alone."""
        recorder = Recorder(root=program_folder(self.program))
        recorder.describe(replicas=replicas)
        return recorder.recording()

    def recorded_again(self, way: Way) -> Recording:
        """Runs the program once more, with recorded values, also after `close`; returns the recording.

        Raises Unsupported for a program that ends where its values are recorded.
        """
        order = _orders(way.replicas).get(way.name, tuple(range(way.replicas)))
        run = Run(self._given(dict(way.arguments)), order)
        with closing(Processes()) as processes:
            found = self._with_records([self._job(way.replicas, [run])], processes)
        if found is None:
            raise Unsupported("The program ends where the values of its collectives are recorded.")
        return recorded_run(found[0][0], self.program, way.replicas)

    def reseeded(self, replicas: int) -> Outcome:
        """Returns the run: a program of a mesh draws no seeds of the check."""
        return self.measured(replicas).first

    def with_moved_sums(self, counts: tuple[int, int]) -> tuple[Measured, Measured]:
        """Returns two runs with other nudged runs; whether a sum has such elements shows in these alone."""
        one, other = [self._with_moved_sums(count) for count in counts]
        return one, other

    def _with_moved_sums(self, replicas: int) -> Measured:
        found = self._moved_sums.get(replicas)
        if found is None:
            found = self._nudged(self.measured(replicas), replicas, _EXPLAINED_NUDGES, sums=True)
            self._moved_sums[replicas] = found
        return found

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        """Runs the program once; a checkpoint among the arguments is used and filled."""
        checkpoint = arguments.get("checkpoint")
        others = {name: value for name, value in arguments.items() if name != "checkpoint"}
        saved = checkpoint.begins_with if isinstance(checkpoint, Checkpoint) else None
        run = Run(self._given(others), tuple(range(replicas)), saved=saved)
        found = self._one(self._job(replicas, [run]))
        if isinstance(checkpoint, Checkpoint) and isinstance(found, Found) and found.saved is not None:
            checkpoint.saved, checkpoint.saves, checkpoint.restored = found.saved
        return self._outcome(found)

    def reordered(self, replicas: int) -> Iterator[tuple[Way, Outcome]]:
        """Yields runs on a mesh whose devices are in other orders, with their ways."""
        for name, order in _orders(replicas).items():
            yield Way(name, replicas), self._outcome(self._one(self._job(replicas, [Run(self._given({}), order)])))

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Runs the program again, with recorded values, and returns why two runs differ."""
        order = tuple(range(counts[1]))
        jobs = [self._job(counts[1], [Run(self._given(dict(arguments)), order)])]
        if counts[0] not in self._watched:
            plain = Run(self._given({}), tuple(range(counts[0])))
            nudged = [plain._replace(nudge=pattern) for pattern in _EXPLAINED_NUDGES]
            jobs.append(self._job(counts[0], [plain, *nudged]))
        runs = self._with_records(jobs)
        if runs is None:
            return Cause(None, None, None, None, None, _NO_RECORD, certain=False)
        if len(runs) > 1:
            self._watched[counts[0]] = runs[1]
        reference = self._watched[counts[0]]
        one, *moved = [_facts(found) for found in reference]
        other = _facts(runs[0][0])
        units = units_of(one.points, [facts.points for facts in moved])
        named = Named(one.named, other.named)
        cause = explain(one.points, other.points, units=units, counts=counts, named=named)
        if cause.site is None:  # the first device may hold the reference's value, and another one does not
            cause = explain(one.points, other.elsewhere, units=units, counts=counts, named=named)
        if cause.site is None:
            pairs = zip((reference[0], runs[0][0]), (one, other), strict=True)
            ends = [_results(found, facts) for found, facts in pairs]
            cause = explain([*one.points, *ends[0]], [*other.points, *ends[1]], units=units, counts=counts, named=named)
        cause = with_transposed_sum(cause, one.transposed, other.transposed, counts)
        places = places_of(runs[0][0], self.program, counts[1])
        number = cause.number
        return cause._replace(number=places[number] if number is not None and 0 <= number < len(places) else None)

    # The runs.

    def _measure(self) -> None:
        first, *others = self.replicas
        both = self._all(self._twice(first))
        self._found = {first: both[0]} | {count: self._one(self.job(count)) for count in others}
        self._rows = _in_all([found.by_device for found in self._found.values() if isinstance(found, Found)])
        self._state = frozenset(path for count in self.replicas for path in self._diverged(count))
        one, again = map(self._outcome, both)
        made = {first: self._nudged(Measured(one, again, (), ()), first)}
        made |= {count: self._unrepeated(count) for count in others}
        for count in others:
            if not agree(made[first], made[count], (first, count), self.settings.exempt):
                other = self._outcome(self._one(self.job(count)))
                made[count] = made[count]._replace(again=other, ran_twice=True)
        self._measured = made

    def _measure_twice(self, count: int) -> Measured:
        first, again = map(self._outcome, self._all(self._twice(count)))
        return Measured(first, again, (), sensitivity(first, ()))

    def _nudged(
        self, measured: Measured, count: int, patterns: Sequence[int] = NUDGES, *, sums: bool = False
    ) -> Measured:
        """Returns what is known of a number of devices, with more nudged runs, in a process of their own."""
        plain = self.job(count).runs[0]
        moved = self._all(self._job(count, [plain._replace(nudge=pattern, sums=sums) for pattern in patterns]))
        first = measured.first
        alike = [one for one in map(self._outcome, moved) if one.error == first.error and paths(one) == paths(first)]
        return measured.also_nudged(alike)

    def _unrepeated(self, count: int) -> Measured:
        found = self._outcome(self._found[count])
        return Measured(found, found, (), sensitivity(found, ()), ran_twice=False)

    def _diverged(self, count: int) -> Iterator[str]:
        """Yields the paths of arrays with a row for each device that are state, began equal and do not end so.

        Which arrays these are shows in a run with recorded values. It is made where there are such arrays alone.
        """
        found = self._found[count]
        if not isinstance(found, Found):
            return
        leaves = dict(found.contents.leaves)
        unequal = {
            path: leaves[path]
            for path in self._rows
            if leaves[path].dtype.kind == "f" and len({row.tobytes() for row in leaves[path]}) > 1
        }
        if not unequal:
            return
        watched = self._with_records([self._job(count, [Run(self._given({}), tuple(range(count)))])])
        for state in () if watched is None else _facts(watched[0][0]).diverged:
            yield from [path for path, leaf in unequal.items() if _is_held(leaf, state)]

    def _with_records(self, jobs: Sequence[Job], processes: Processes | None = None) -> list[tuple[Found, ...]] | None:
        """Returns the runs of jobs with recorded values; None where a process cannot make them.

        The values of all lines are left out where a process ends with them: XLA does not compile every such program.
        """
        for watched in ("lines", "calls"):
            server = processes or self._processes
            answers = [server.run(job._replace(watched=watched), self.settings.timeout_s) for job in jobs]
            known = [answer.runs for answer in answers if not isinstance(answer, Failure)]
            if len(known) == len(jobs):
                return known
        return None

    def _twice(self, replicas: int) -> Job:
        job = self.job(replicas)
        return job._replace(runs=job.runs * 2)

    def _given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {name: values[0] for name, values in self.settings.vary.items()} | {**arguments}

    def _job(self, replicas: int, runs: Sequence[Run]) -> Job:
        return Job(*self._place, self._axes, replicas, tuple(runs))

    def _one(self, job: Job) -> Found | Failure:
        return self._all(job)[0]

    def _all(self, job: Job) -> Sequence[Found | Failure]:
        """Returns the runs of a job; as many failures where its process ended without an answer."""
        answer = self._processes.run(job, self.settings.timeout_s)
        return [answer] * len(job.runs) if isinstance(answer, Failure) else answer.runs

    def _outcome(self, found: Found | Failure) -> Outcome:
        return failed(found) if isinstance(found, Failure) else outcome_of(found, self._rows, self._state)


def _orders(replicas: int) -> dict[str, tuple[int, ...]]:
    """Returns other orders of the devices of a mesh, by name: each order once."""
    plain = tuple(range(replicas))
    orders = {
        "mesh of the devices in reverse": plain[::-1],
        "mesh from the second device on": plain[1:] + plain[:1],
    }
    named = {order: name for name, order in orders.items() if order != plain}
    return {name: order for order, name in named.items()}


def _in_all(sets: Sequence[frozenset[str]]) -> frozenset[str]:
    return frozenset.intersection(*sets) if sets else frozenset()


def _facts(found: Found) -> Facts:
    assert found.record is not None
    return facts_of(found.record)


def _is_held(leaf: np.ndarray[Any, Any], state: Diverged) -> bool:
    """Returns whether the rows of an array [devices, …] are what the devices hold of a state in the end."""
    return len(leaf) == len(state.last) and all(
        row.tobytes() == one.tobytes() for row, one in zip(leaf, state.last, strict=True)
    )


def _results(found: Found, facts: Facts) -> Iterator[PointFacts]:
    """Yields the results of a run as values that the program keeps."""
    step = max([point.step for point in facts.points], default=0)
    for path, leaf in found.contents.leaves:
        if leaf.dtype.kind in "biuf":
            copies = found.unequal.get(path, ())
            terms = tuple([(copy,) for copy in copies])
            yield PointFacts(step, "", "result", path, None, terms, (leaf,), kept=True, own=bool(copies))
