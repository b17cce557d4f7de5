"""The runs of one program of a mesh on several numbers of host devices, as the laws of the core need them.

All numbers run at the first request, one after the other. The first one runs twice, and nudged after that, in one
process; another number runs again where its run raises or differs. Values inside of the program are recorded where a
law is broken alone; such a run counts as the second one where it gives the same.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final, final

import numpy as np

from simstrategy.check.causes.facts import Cause
from simstrategy.check.checkpoint import Checkpoint
from simstrategy.check.compare import NUDGES, compare, exactly, sensitivity
from simstrategy.check.distances import is_float
from simstrategy.check.executed import script_of
from simstrategy.check.left_over import LeftOver
from simstrategy.check.outcome import Outcome, program_folder
from simstrategy.check.runs import Measured, Settings, agree
from simstrategy.check.shown import Way
from simstrategy.errors import Unsupported
from simstrategy.schedules import InOrder
from simstrategy.trace import Recorder, Recording
from simstrategy_xla.mesh_check.accumulated import left_over_in
from simstrategy_xla.mesh_check.jobs import Found, Job, Run
from simstrategy_xla.mesh_check.moved_sums import MovedSums, also_moved
from simstrategy_xla.mesh_check.outcomes import failed, outcome_of
from simstrategy_xla.mesh_check.processes import Failure
from simstrategy_xla.mesh_check.program_jobs import ProgramJobs
from simstrategy_xla.mesh_check.recorded import recorded_run
from simstrategy_xla.mesh_check.records import Records
from simstrategy_xla.mesh_check.script_runs import compared_names, left_out, other_batch, untried_by, without

__all__ = ["MeshRuns"]

_APART: Final = (
    "Each run has a process of its own: a second run in one process gives other values, since the first one changes "
    "what the file or its imports keep, such as a random generator."
)


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
        self._axes = tuple(axes)
        self._jobs = ProgramJobs(program, axes, settings)
        self._found: dict[int, Found | Failure] = {}
        self._rows: frozenset[str] = frozenset()
        self._state: frozenset[str] = frozenset()
        self._unsettled: frozenset[str] = frozenset()
        self._left: frozenset[str] | None = None if script_of(program) is None else frozenset()
        self._measured: dict[int, Measured] = {}
        self._records = Records(program, self._jobs, self._found)
        self._moved_sums = MovedSums(self._jobs, self._records, self._outcome, settings.exempt)

    def close(self) -> None:
        self._jobs.close()

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
        return self._jobs.job(self._jobs.run(replicas))

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
        order = _orders(way.replicas).get(way.name)
        with closing(ProgramJobs(self.program, self._axes, self.settings)) as jobs:
            found = Records(self.program, jobs, {}).one(jobs.run(way.replicas, dict(way.arguments), order=order))
        if found is None:
            raise Unsupported("The program ends where the values of its collectives are recorded.")
        return recorded_run(found, self.program, way.replicas)

    def drawn_from(self, counts: tuple[int, int]) -> tuple[str, ...]:
        """Returns nothing: a program of a mesh draws from keys."""
        return ()

    def reseeded(self, replicas: int) -> Outcome:
        """Returns the run: its keys are values of the program."""
        return self.measured(replicas).first

    def with_moved_sums(self, counts: tuple[int, int]) -> tuple[Measured, Measured]:
        """Returns two runs with other nudged runs; whether a sum has such elements shows in these alone."""
        return self._moved_sums.both(self.measured(counts[0]), self.measured(counts[1]), counts)

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Returns what rounding alone decides of parameters, by what optimizers accumulate of their gradients."""
        one, other = [self.measured(count) for count in counts]
        return {} if arguments else left_over_in(one.first, other.first, one.nudged, paths)

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        """Runs the program once; a checkpoint among the arguments is used and filled."""
        checkpoint = arguments.get("checkpoint")
        others = {name: value for name, value in arguments.items() if name != "checkpoint"}
        saved = checkpoint.begins_with if isinstance(checkpoint, Checkpoint) else None
        (found,) = self._jobs.made(self._jobs.run(replicas, others, saved=saved))
        if isinstance(checkpoint, Checkpoint) and isinstance(found, Found) and found.saved is not None:
            checkpoint.saved, checkpoint.saves, checkpoint.restored = found.saved
        return self._outcome(found)

    def reordered(self, replicas: int) -> Iterator[tuple[Way, Outcome]]:
        """Yields runs on a mesh whose devices are in other orders, with their ways."""
        for name, order in _orders(replicas).items():
            (found,) = self._jobs.made(self._jobs.run(replicas, order=order))
            yield Way(name, replicas), self._outcome(found)

    def other_batches(self, counts: tuple[int, int]) -> str | None:
        """Returns which batch of a script has another size on another number of devices; None where none has."""
        one, other = [self._found.get(count) for count in counts]
        return other_batch(one, other, counts) if isinstance(one, Found) and isinstance(other, Found) else None

    def drawn(self, counts: tuple[int, int]) -> str | None:
        """Returns where each device draws random numbers, as in ``at train.py:31``; None where none does."""
        found = [self._found.get(count) for count in counts]
        return next((site for one in found if isinstance(one, Found) for site in one.draws), None)

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Runs the program again, with recorded values, and returns why two runs differ."""
        if self.other_batches(counts) is not None:
            return None
        return self._records.explain(counts, arguments)

    # The runs.

    def _measure(self) -> None:
        first, *others = self.replicas
        plain = self._jobs.run(first)
        both, moved = self._firsts(plain)
        self._found[first] = both[0]
        for count in others:
            self._found[count] = self._once(count)
        ended = [one for one in self._found.values() if isinstance(one, Found) and one.error is None]
        self._rows = _in_all([one.by_device for one in ended])
        diverged = [one for count in self.replicas for one in self._diverged(count)]
        self._state = frozenset(path for path, partakes in diverged if partakes)
        self._unsettled = frozenset(path for path, _ in diverged) - self._state
        self._leave_out(ended)
        one, again = map(self._outcome, both)
        made = {first: also_moved(Measured(one, again, (), ()), map(self._outcome, moved))}
        made |= {count: self._unrepeated(count) for count in others}
        for count in others:
            if not agree(made[first], made[count], (first, count), self.settings.exempt):
                made[count] = made[count]._replace(again=self._outcome(self._records.again(count)), ran_twice=True)
        self._measured = made

    def _firsts(self, plain: Run) -> tuple[Sequence[Found | Failure], Sequence[Found | Failure]]:
        """Returns two runs of the first number, and its nudged ones, made in one process.

        Each run of the check has a process of its own where these two differ, and two in processes of their own do not.
        """
        both, moved = self._jobs.made_in_turn([plain, plain], _nudges(plain))
        if self._is_repeated(both):
            return both, moved
        self._jobs.apart = True
        alone = self._jobs.made(plain, plain)
        self._jobs.apart = self._is_repeated(alone)
        if not self._jobs.apart:
            return both, moved
        self.notes.append(_APART)
        return alone, self._jobs.made(*_nudges(plain))

    def _is_repeated(self, both: Sequence[Found | Failure]) -> bool:
        one, again = map(self._outcome, both)
        return compare(one, again, exactly(one)).equal_bits

    def _once(self, replicas: int) -> Found | Failure:
        return self._jobs.made(self._jobs.run(replicas))[0]

    def _twice(self, replicas: int) -> Sequence[Found | Failure]:
        run = self._jobs.run(replicas)
        return self._jobs.made(run, run)

    def _measure_twice(self, count: int) -> Measured:
        first, again = map(self._outcome, self._twice(count))
        return Measured(first, again, (), sensitivity(first, ()))

    def _nudged(self, measured: Measured, count: int) -> Measured:
        """Returns what is known of a number of devices, with nudged runs, in a process of their own."""
        moved = self._jobs.made(*_nudges(self._jobs.run(count)))
        return also_moved(measured, map(self._outcome, moved))

    def _unrepeated(self, count: int) -> Measured:
        found = self._outcome(self._found[count])
        return Measured(found, found, (), sensitivity(found, ()), ran_twice=False)

    def _diverged(self, count: int) -> Iterator[tuple[str, bool]]:
        """Yields the paths of arrays with a row for each device that are state, began equal and do not end so.

        Each with whether anything but its own next value is computed with it.
        Which arrays these are shows in a run with recorded values. It is made where rows are unequal alone.
        """
        found = self._found[count]
        if not isinstance(found, Found) or found.error is not None:
            return
        leaves = dict(found.contents.leaves)
        unequal = {path for path in self._rows if is_float(leaves[path]) and len({*_rows_of(leaves[path])}) > 1}
        if unequal:
            yield from [one for one in self._records.diverged(count).items() if one[0] in unequal]

    def _leave_out(self, ended: Sequence[Found]) -> None:
        """Chooses what of a script is not compared.  ended: the runs without an error."""
        if self._left is not None and ended:
            self._left = left_out(ended, self._rows, self._state | self._unsettled)
            text = compared_names(ended, self._left)
            self.notes += [text] if text else []

    def _outcome(self, found: Found | Failure) -> Outcome:
        if isinstance(found, Failure):
            return failed(found)
        if self._left is None:
            return outcome_of(found, self._rows, self._state, self._unsettled)
        outcome = outcome_of(without(found, self._left), self._rows, self._state, self._unsettled)
        return outcome._replace(untried=untried_by(found))


def _nudges(plain: Run) -> list[Run]:
    return [plain._replace(nudge=pattern) for pattern in NUDGES]


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


def _rows_of(leaf: np.ndarray[Any, Any]) -> list[bytes]:
    return [row.tobytes() for row in leaf]
