"""The runs of one TensorFlow program under MirroredStrategy, as the laws of the core need them.

Each number of replicas runs when a law needs it. The first runs twice, and three times nudged; another one runs a
second time where its first run raises or differs.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Final, final

from simstrategy.check.causes import Cause
from simstrategy.check.causes.facts import DUPLICATED
from simstrategy.check.causes.left_over import left_over
from simstrategy.check.causes.rounding import cancels_in
from simstrategy.check.causes.running import explain_recordings
from simstrategy.check.compare import NUDGES, sensitivity
from simstrategy.check.left_over import LeftOver
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, Settings, agree, seeds_drawn
from simstrategy.device.narrow import coarsest
from simstrategy.schedules import InOrder
from simstrategy.trace import Recording, describe_site
from simstrategy_tensorflow.generated import remove_generated
from simstrategy_tf_distribute.again import Again
from simstrategy_tf_distribute.devices import names
from simstrategy_tf_distribute.gradients import GRADIENT, gradients_in, of_state
from simstrategy_tf_distribute.layers import OwnPart, layers_on_their_own
from simstrategy_tf_distribute.outside import hints_of
from simstrategy_tf_distribute.retracing import no_remark_on_retracing
from simstrategy_tf_distribute.running import Run, run_once

__all__ = ["TensorFlowRuns", "with_lines"]

_PLACE: Final = "value "
"""How the subject of a reduction begins that has a number and no name."""

_NUDGES: Final = NUDGES
_NARROW: Final = (
    "The program computes in {dtype}, so what rounding may explain is measured by units of it where runs differ. "
    "Run it in float32, as with the policy 'float32', to have smaller differences judged."
)
_NAMED_MAX: Final = 4
_NEAR: Final = 1e-3
"""How near a factor has to be to the quotient of the numbers of replicas."""


@final
class TensorFlowRuns:
    """The runs of `program(strategy: tf.distribute.Strategy)`.  It satisfies `simstrategy.check.runs.RecordedRuns`.

    seed: of Keras and TensorFlow, set before each run.
    """

    reference = "MirroredStrategy"
    has_reference = True
    schedule = InOrder.name

    def __init__(
        self,
        program: Callable[[Any], Any],
        replicas: Sequence[int],
        settings: Settings,
        seed: int,
    ) -> None:
        names(max(*replicas, *settings.workers, 1))  # TensorFlow makes its devices once: the largest number comes first
        self.program = program
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = settings
        self.notes: list[str] = []
        self.seed = seed
        self._runs: dict[int, Run] = {}
        self._nudged: dict[int, tuple[Run, ...]] = {}
        self._measured: dict[int, Measured] = {}
        self._moved_sums: dict[tuple[int, str | None], Measured] = {}
        """By the number of replicas, and by the narrow dtype that both compared runs compute in."""
        self._recordings: dict[int, Recording] = {}
        self._again = Again(program, seed, settings.exempt)
        self._after_first = ExitStack()
        """What holds after the first run."""

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program with a number of replicas; runs it at the first call."""
        found = self._measured.get(replicas)
        if found is None:
            found = self._measured[replicas] = self._measure(replicas)
        return found

    def made(self) -> Mapping[int, Measured]:
        return self._measured

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of the first run with a number of replicas."""
        return self._recordings[replicas]

    def drawn_from(self, counts: tuple[int, int]) -> tuple[str, ...]:
        return seeds_drawn(self._measured, counts)

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program with the next seed of Keras and TensorFlow."""
        return run_once(self.program, self.seed + 1, replicas).outcome

    def with_moved_sums(self, counts: tuple[int, int]) -> tuple[Measured, Measured] | None:
        """Returns two runs with other nudged runs where these move more.

        So it is where a reduction has elements of which rounding alone is left, and where the program computes in a
        narrow dtype: its data and what it reduces move by units of that then.
        """
        runs = [self._runs[count] for count in counts]
        narrow = coarsest([run.narrow for run in runs if run.narrow is not None])
        if narrow is None and not any(cancels_in(_reductions(run.recording)) for run in runs):
            return None
        note = _NARROW.format(dtype=narrow)
        if narrow is not None and note not in self.notes:
            self.notes.append(note)
        one, other = [self._with_moved_sums(count, narrow) for count in counts]
        return one, other

    def _with_moved_sums(self, replicas: int, narrow: str | None) -> Measured:
        found = self._moved_sums.get((replicas, narrow))
        if found is None:
            runs = [run_once(self.program, self.seed, replicas, one, sums=True, narrow=narrow) for one in _NUDGES]
            if narrow is not None:  # what these show counts for the cause as well
                self._nudged[replicas] = (*self._nudged.get(replicas, ()), *runs)
            moved = [run.outcome for run in runs if run.outcome.error is None]
            found = self._moved_sums[replicas, narrow] = self.measured(replicas).also_nudged(moved)
        return found

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Returns what rounding alone decides of variables and of an optimizer's state, by their reduced gradients."""
        nudged = self._nudged.get(counts[0], ())[: len(_NUDGES)]
        if arguments or not nudged:
            return {}
        steps = [gradients_in(self._runs[count].recording) for count in counts]
        found = left_over(steps, [gradients_in(run.recording) for run in nudged])
        return of_state(found, {name for step in steps[0] for name in step}, paths)

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause:
        """Returns the cause of a difference: of what was reduced in the steps, or else of runs that are made for it."""
        cause = self._of_reductions(self._runs[counts[1]].recording, counts)
        if cause.certain:
            return cause
        known = self.measured(counts[0]), self.measured(counts[1])
        layers = list(layers_on_their_own(_layers(self._runs[counts[0]])))
        found = self._again.predicting(cause, layers, counts)
        if found is not None:
            return found
        recorded = self._runs[counts[0]].recording, self._runs[counts[1]].recording
        closer = self._again.line_by_line(counts, known, recorded, cause.step or 0)
        shared = hints_of(self._runs[counts[1]].shared, self._runs[counts[0]].shared)
        return _with_hints(cause if closer is None else _closest(cause, closer), layers, shared)

    def explain_other(self, recording: Recording, counts: tuple[int, int]) -> Cause:
        """Returns the cause for another run than those of this object, of what was reduced.  recording: of it."""
        run = self._runs[counts[0]]
        shared = hints_of(run.shared, None)
        return _with_hints(self._of_reductions(recording, counts), layers_on_their_own(_layers(run)), shared)

    def _of_reductions(self, recording: Recording, counts: tuple[int, int]) -> Cause:
        one, other = _reductions(self._runs[counts[0]].recording), _reductions(recording)
        nudged = [_reductions(run.recording) for run in self._nudged.get(counts[0], ())]
        cause = explain_recordings(one, other, nudged, counts=counts)
        variable = (cause.variable or "").removeprefix(GRADIENT)
        unnamed = not variable or variable.startswith(_PLACE)
        cause = cause._replace(variable=None if unnamed else variable)
        return with_lines(cause, self._runs[counts[1]], counts[1] / counts[0])

    def close(self) -> None:
        """Forgets the models, and removes the files of functions that were converted."""
        self._after_first.close()
        self._runs.clear()
        self._nudged.clear()
        self._again.close()
        remove_generated()

    def with_rounding(self, replicas: int) -> Measured:
        """Returns what `measured` does, with nudged runs, which the first number alone has without this."""
        found = self.measured(replicas)
        if not found.nudged and found.first.error is None:
            found = self._measured[replicas] = found.also_nudged(self._nudge(replicas))
        return found

    def _nudge(self, replicas: int) -> tuple[Outcome, ...]:
        runs = self._nudged[replicas] = tuple([run_once(self.program, self.seed, replicas, one) for one in _NUDGES])
        return tuple([one.outcome for one in runs])

    def _measure(self, replicas: int) -> Measured:
        is_first = not self._runs
        run = self._runs[replicas] = run_once(self.program, self.seed, replicas)
        if is_first:
            self._after_first.enter_context(no_remark_on_retracing())
        nudged = self._nudge(replicas) if replicas == self.replicas[0] else ()
        self._recordings[replicas] = run.recording
        first = run.outcome
        found = Measured(first, first, nudged, sensitivity(first, nudged))
        reference = self.replicas[0]
        if replicas != reference and agree(
            self.measured(reference), found, (reference, replicas), self.settings.exempt
        ):
            return found._replace(ran_twice=False)
        return found._replace(again=run_once(self.program, self.seed, replicas).outcome)


def with_lines(cause: Cause, run: Run, ratio: float) -> Cause:
    """Returns a cause with the lines that write what is combined at its place, or from which its examples come.

    ratio: of the numbers of replicas. Clauses: J-38, J-39.
    """
    place = (cause.site or "").rpartition("/")[2]
    texts = [text for site, found in run.combined.items() if describe_site(site) == place for text in found]
    if cause.what == "reduce" and texts:
        more = f" and {len(texts) - _NAMED_MAX} more" if len(texts) > _NAMED_MAX else ""
        return cause._replace(text=f"{cause.text} What the replicas write: {', '.join(texts[:_NAMED_MAX])}{more}.")
    is_ratio = cause.factor is not None and abs(cause.factor / ratio - 1) < _NEAR
    if run.undistributed and (is_ratio or cause.kind == DUPLICATED):
        first = run.undistributed[0]
        return cause._replace(source=describe_site(first.made), text=f"{cause.text} {first.text}.")
    return cause


def _closest(cause: Cause, other: Cause) -> Cause:
    """Returns of two causes the one with a kind, or that begins earlier; the first one where neither does.

    other: that of runs line by line, which has a step.
    """
    earlier = cause.step is None or (other.step is not None and other.step < cause.step)
    return other if other.kind is not None or earlier else cause


def _with_hints(cause: Cause, layers: Iterable[OwnPart], shared: Iterable[str]) -> Cause:
    """Returns a cause with what layers do, or shared variables hold, that may be another one, where it is not certain.

    shared: as of `hints_of`.
    """
    hints = [] if cause.certain else [*shared, *[one.text for one in layers]]
    return cause._replace(text="\n  ".join([cause.text, *hints]))


def _layers(run: Run) -> Sequence[Any]:
    return (*run.models, *run.layers)


def _reductions(recording: Recording) -> Recording:
    """Returns a recording of what was reduced alone: how optimizers write their variables is not recorded."""
    return recording._replace(writes=(), results=())
