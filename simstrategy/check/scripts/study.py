"""The runs of a script, as the laws request them: each with the arguments that its number of replicas gives."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, final

from simstrategy.check.across import ITS_OWN
from simstrategy.check.causes.facts import Cause
from simstrategy.check.causes.varied import Arguments
from simstrategy.check.causes.ways import ways_apart
from simstrategy.check.compare import end_alike, sensitivity
from simstrategy.check.injection import Fault
from simstrategy.check.left_over import LeftOver
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.runs import Measured, Settings, seeds_drawn
from simstrategy.check.scripts.explaining import cause_of
from simstrategy.check.scripts.facts import Runner, ScriptRun, ScriptSettings, Value
from simstrategy.check.scripts.inputs import OTHER_DATA, are_other_data, joins_apart, other_orders, other_rows
from simstrategy.check.scripts.outcomes import begins, outcome_of
from simstrategy.check.scripts.own_folders import OwnFolders
from simstrategy.check.scripts.predicting import with_layers, with_seeds
from simstrategy.check.scripts.printed import Output, unlike_numbers
from simstrategy.check.scripts.remarks import empty_agreement
from simstrategy.check.scripts.rounding import Rounding
from simstrategy.check.scripts.shards import shards_of, with_whole
from simstrategy.check.shown import Way
from simstrategy.check.templates import RANK, REPLICAS, are_shares, filled
from simstrategy.device.perturbed import LeftSums
from simstrategy.errors import Unsupported
from simstrategy.sim import ORDERS
from simstrategy.trace import Recording

__all__ = ["ScriptStudy"]

_ADDED: Final = "{}: order of additions"
_PARTS: Final = (
    "Of what each replica has a value of its own, parameters are compared whose parts, put together in the order of "
    "the replicas, begin with the bits of one replica's whole: let 1 be the first number of replicas. Of others "
    "observe the whole, which all replicas have gathered."
)


@final
class ScriptStudy:
    """A script, its arguments, and its runs.  arguments: with what stands for numbers in braces.

    pattern: of the lines of its output whose numbers are compared; None for none. of_one_run: the laws that are judged
    in the first run of each number of replicas.
    """

    def __init__(
        self,
        runner: Runner,
        arguments: Sequence[str],
        replicas: Sequence[int],
        settings: Settings,
        pattern: "re.Pattern[str] | None",
        of_one_run: Sequence[str] = (),
    ) -> None:
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = settings._replace(nothing=runner.nothing)
        self.notes: list[str] = []
        """What limits the runs, as sentences."""
        self.first_runs: dict[int, ScriptRun] = {}
        """The first run, by the number of replicas: its events, and what laws of one run found in it."""
        self._of_one_run = tuple(of_one_run)
        self._runner = runner
        self._arguments = tuple(arguments)
        self._pattern = pattern
        self._folders = OwnFolders(self.notes, lambda one, other: end_alike(self._outcome(one), self._outcome(other)))
        self._measured: dict[int, Measured] = {}
        self._references: dict[int, ScriptRun] = {}
        """Recorded runs, by the number of replicas."""
        self._begun: list[Value] = []
        """With what parameters begin on one replica."""
        self._outputs: dict[int, Output] = {}
        """What replica 0 prints, by the number of replicas."""
        self._is_remarked = False
        self._rounding = Rounding(self._run, self._outcome, self.replicas[0], self.notes)
        for count in self.replicas:  # an argument that is wrong is an error before anything runs
            for name, value in ((name, value) for name, values in settings.vary.items() for value in values):
                filled(self._arguments, self._values(count, {name: value}))
            filled(self._arguments, self._values(count, {}))

    @property
    def reference(self) -> str:
        return self._runner.name

    @property
    def schedule(self) -> str:
        """The order of additions: replicas run at the same time."""
        return _ADDED.format(self.settings.order)

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the script at a number of replicas; runs it at the first call.

        A run that fails is not repeated. How far rounding moves values is measured at the first number.
        """
        found = self._measured.get(replicas)
        if found is None:
            run, repeated = self._folders.twice(
                lambda: self._run(replicas, {}, laws=self._of_one_run), lambda: self._run(replicas, {})
            )
            self.notes += [note for note in run.notes if note not in self.notes]
            self.first_runs[replicas] = run
            first = again = self._outcome(run)
            moved: tuple[Outcome, ...] = ()
            if repeated is not None:
                again, runs = self._outcome(repeated), []
                if replicas == self.replicas[0]:
                    runs = self._rounding.nudged()
                    moved = tuple(one for one in map(self._outcome, runs) if one.error is None)
                    first = self._rounding.known_of(first, runs)
                nudged = tuple(one.output for one in runs)
                self._outputs[replicas] = Output(replicas, run.output, repeated.output, nudged)
            found = self._measured[replicas] = Measured(first, again, moved, sensitivity(first, moved))
        return found

    def made(self) -> Mapping[int, Measured]:
        """Returns what has been measured so far, by the number of replicas."""
        return self._measured

    def with_moved_sums(self, counts: tuple[int, int]) -> tuple[Measured, Measured] | None:
        """Returns two runs with other nudged runs where these move more.

        So it is where a gradient has elements of which rounding alone is left, and where the script computes in a
        narrow dtype: inputs and gradients move by its units then.
        """
        recorded = [self._recorded(count) for count in counts]
        return self._rounding.with_moved_sums(counts, recorded, self.measured)

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Runs the script again, recorded with its gradients, and returns what rounding alone decides of parameters.

        That is known of the first number of replicas, whose runs are nudged with their steps recorded.
        """
        known = [value.path for value in self.first_runs[counts[0]].values if value.name]
        if counts[0] != self.replicas[0] or not {*known} & {*paths}:
            return {}
        other = self._detailed(counts[1], arguments) if arguments else self._recorded(counts[1])
        return self._rounding.left_over((self._recorded(counts[0]), other), paths)

    def remark(self, counts: tuple[int, int], row: Row) -> None:
        """Notes what limits a row that is not judged: values of each replica's own, or coarse rounding.

        Where it agrees: once, that replica 0 prints other numbers in the two runs, which nothing compares.
        """
        if row.undecided is None and row.problem is None:
            self._remark_on_output(counts)
        elif row.undecided is not None and row.why == ITS_OWN and _PARTS not in self.notes:
            self.notes.append(_PARTS)
        elif row.undecided is not None and not row.why:
            self._rounding.note_narrow(self._recorded(self.replicas[0]).narrow)

    def planted(self, replicas: int, folder: str, fault: Fault | None) -> ScriptRun:
        """Runs the script once in a folder, with a fault or without one."""
        given = filled(self._arguments, self._values(replicas, {}))
        made = ScriptSettings(replicas, given, self.settings.order, folder=folder, is_planted=True, fault=fault)
        return self._runner.run(made)

    def recorded_by(self, runner: Runner, way: Way) -> Recording:
        """Runs the script once more and returns the recording.  Raises Unsupported where the front makes none."""
        given = filled(self._arguments, self._values(way.replicas, dict(way.arguments)))
        order = way.order or self.settings.order
        with self._folders.one() as folder:
            made = ScriptSettings(way.replicas, given, order, detailed=True, recorded=True, folder=folder)
            run = runner.run(made)
        if run.recording is None:
            raise Unsupported(f"Runs of {runner.name} are not recorded for a page.")
        return run.recording

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        return self._outcome(self._run(replicas, arguments))

    def drawn_from(self, counts: Iterable[int]) -> tuple[str, ...]:
        """Returns the generators that each replica has in a state of its own, and the lines that seed some so.

        Not the lines that seed with the same numbers whatever the number of replicas: those are of rows, which replicas
        share out.
        """
        runs = [self._recorded(count) for count in dict.fromkeys(counts)]
        shared = {*runs[0].seeds}.intersection(*[run.seeds for run in runs[1:]]) if len(runs) > 1 else ()
        labels = {label for label, _ in shared}
        return tuple(dict.fromkeys(source for run in runs for source in run.draws if source not in labels))

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the script once, where each replica draws other numbers.

        Where parameters would begin with others, the lines that seed stay as they are: a model is no noise.
        """
        run = self._run(replicas, {}, reseeded=self.drawn_from((replicas, *self._references)))
        if begins(run) != begins(self._recorded(replicas)):
            drawn = seeds_drawn(self._measured, self._measured)
            if not drawn:
                return self.measured(replicas).first
            run = self._run(replicas, {}, reseeded=drawn)
        return self._outcome(run)

    def reordered(self, replicas: int) -> Iterator[tuple[Way, Outcome]]:
        """Yields runs in the other orders of additions, with their ways."""
        for order in ORDERS:
            if order != self.settings.order:
                way = Way(_ADDED.format(order), replicas, order=order)
                yield way, self._outcome(self._run(replicas, {}, order=order))

    def why_not_judged(self, counts: tuple[int, int], row: Row) -> tuple[str, str] | None:
        """Returns why a row of two runs states nothing, in few words and as a text; None where it states something.

        Where they differ: each number of replicas has other batches, and no law demands equal results then. Where they
        agree: nothing was compared that shows anything.
        """
        if row.problem is not None:
            return self._other_data(counts)
        runs = {count: self.first_runs[count] for count in counts}
        return None if row.undecided is not None else empty_agreement(runs, has_output=self._pattern is not None)

    def _other_data(self, counts: tuple[int, int]) -> tuple[str, str] | None:
        one, other = [self.first_runs[count] for count in counts]
        is_stated = are_shares(self._arguments)
        if are_other_data(one.inputs, other.inputs, is_stated=is_stated):
            return "other global batches", OTHER_DATA
        joined = joins_apart(one, other, counts, is_stated=is_stated)
        if joined is not None:
            return "other global batches", joined
        text = other_orders(one.batches.orders, other.batches.orders, counts)
        return None if text is None else ("other orders of rows", text)

    def _remark_on_output(self, counts: tuple[int, int]) -> None:
        one, other = [None if self._is_remarked else self._outputs.get(count) for count in counts]
        remark = None if one is None or other is None else unlike_numbers(one, other, self._pattern)
        self.notes += [remark] if remark else []
        self._is_remarked |= remark is not None

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Runs the script again, recorded with its gradients and names, and returns why two runs differ."""
        if counts[0] != counts[1] and self._other_data(counts) is not None:
            return None
        one = self._recorded(counts[0])
        other = self._detailed(counts[1], arguments) if arguments else self._recorded(counts[1])
        for run in (one, other):
            if run.error is not None and not run.steps:
                return Cause.unknown(f"the run in which values are recorded raises {run.error[0]}: {run.error[1]}")
        nudged = self._rounding.steps(counts[0])
        given = Arguments.of({name: values[0] for name, values in self.settings.vary.items()}, arguments)
        again = partial(self._detailed, counts[0], {})
        cause = cause_of(one, other, again, nudged=nudged, counts=counts, given=given)
        if cause.kind is None and not arguments:
            cause = cause._replace(text=f"{cause.text}{other_rows(one.inputs, other.inputs)}")
        if cause.kind is not None or arguments:
            return with_seeds(cause, other)
        return with_layers(cause, counts, self._predicting, self._outcome, self.settings.exempt)

    def _predicting(self, replicas: int, kinds: tuple[str, ...], nudge: int | None) -> ScriptRun:
        narrow = None if nudge is None else self._rounding.narrow
        return self._run(replicas, {}, nudge=nudge, predicting=kinds, narrow=narrow)

    def explain_state(self, replicas: int) -> Cause | None:
        """Runs the script again, as `explain` does, and returns why its replicas do not have the same."""
        run = self._recorded(replicas)
        return ways_apart(run.traced, run.steps)

    def _recorded(self, replicas: int) -> ScriptRun:
        """Returns a recorded run without other arguments; made once."""
        found = self._references.get(replicas)
        if found is None:
            found = self._references[replicas] = self._detailed(replicas, {})
        return found

    def _detailed(self, replicas: int, arguments: Mapping[str, Any]) -> ScriptRun:
        return self._run(replicas, arguments, detailed=True, laws=self._of_one_run)

    def _values(self, replicas: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
        first = {name: values[0] for name, values in self.settings.vary.items()}
        own = {} if self._runner.rank_text is None else {RANK: self._runner.rank_text}
        return {REPLICAS: replicas} | own | first | {**arguments}

    def _run(
        self,
        replicas: int,
        arguments: Mapping[str, Any],
        *,
        nudge: int | None = None,
        order: str | None = None,
        detailed: bool = False,
        laws: tuple[str, ...] = (),
        reseeded: tuple[str, ...] = (),
        sums: LeftSums | None = None,
        predicting: tuple[str, ...] = (),
        narrow: str | None = None,
    ) -> ScriptRun:
        given = filled(self._arguments, self._values(replicas, arguments))
        order = order or self.settings.order
        made = ScriptSettings(replicas, given, order, nudge, detailed, laws, reseeded, sums=sums, predicting=predicting)
        with self._folders.one() as folder:
            run = self._runner.run(made._replace(narrow=narrow, folder=folder))
        if replicas == self.replicas[0] == 1:
            self._begun = self._begun or [value for value in run.values if value.begins]
            return run
        return with_whole(run, shards_of(self._begun, run.values, replicas), replicas)

    def _outcome(self, run: ScriptRun) -> Outcome:
        return outcome_of(run, self._pattern)
