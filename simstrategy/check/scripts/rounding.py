"""How far rounding moves a script: its nudged runs, what they are nudged by, and which values it decides alone."""

from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple, final

from simstrategy.check.causes.facts import StepFacts
from simstrategy.check.causes.left_over import Gradients, gradients_of, left_over, truly_small
from simstrategy.check.causes.rounding import cancels, sizes_of_terms
from simstrategy.check.compare import NUDGES
from simstrategy.check.left_over import LeftOver
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured
from simstrategy.check.scripts.facts import ScriptRun
from simstrategy.device.narrow import coarsest
from simstrategy.device.perturbed import LeftSums

__all__ = ["Rounding"]

_NARROW: Final = (
    "The script computes in {dtype}, so what rounding may explain is measured by units of it where runs differ. "
    "Run it in float32, as with torch.autocast(..., enabled=False), to have smaller differences judged."
)
_NOT_MOVED: Final = (
    "With its inputs moved by one ulp the script raises {kind}, so it is not known how far rounding moves its results: "
    "{text}"
)


class _Moved(NamedTuple):
    """How the runs of a number of replicas are made whose sums move.  narrow: in which dtype both runs compute."""

    replicas: int
    narrow: str | None
    left: LeftSums


@final
class Rounding:
    """The nudged runs of a script.

    run: runs the script once, with the number of replicas, its arguments and settings by name. outcome: makes an
    outcome of a run. first: the first number of replicas. notes: to which a narrow dtype is added.
    """

    def __init__(
        self, run: Callable[..., ScriptRun], outcome: Callable[[ScriptRun], Outcome], first: int, notes: list[str]
    ) -> None:
        self._run = run
        self._outcome = outcome
        self._first = first
        self._notes = notes
        self._steps: list[Sequence[StepFacts]] = []
        """Of the runs of `nudged`."""
        self._also: list[Sequence[StepFacts]] = []
        """Of runs of the first number that were nudged by units of a narrow dtype."""
        self._moved_sums: list[tuple[_Moved, Measured]] = []
        self._narrow: list[str] = []
        """The narrow dtypes by whose units runs were nudged."""

    @property
    def narrow(self) -> str | None:
        """The coarsest dtype by whose units runs were nudged."""
        return coarsest(self._narrow)

    def steps(self, replicas: int) -> Sequence[Sequence[StepFacts]]:
        """Returns the steps of the nudged runs with a number of replicas."""
        return [*self._steps, *self._also] if replicas == self._first else []

    def nudged(self) -> list[ScriptRun]:
        """Runs the script with its inputs moved by one ulp, in each pattern, with the first number of replicas."""
        runs = [self._run(self._first, {}, detailed=True, nudge=pattern) for pattern in NUDGES]
        self._steps = [run.steps for run in runs]
        return runs

    def known_of(self, first: Outcome, runs: Sequence[ScriptRun]) -> Outcome:
        """Returns the first run; where all nudged runs raise, as one of which no rounding is known, with a note."""
        raised = [run.error for run in runs if run.error is not None]
        if not raised or len(raised) < len(runs):
            return first
        self._notes.append(_NOT_MOVED.format(kind=raised[0][0], text=raised[0][1]))
        return first._replace(floats_put=False)

    def note_narrow(self, narrow: str | None) -> None:
        """Notes once that the script computes in a narrow dtype."""
        if narrow is not None and narrow not in self._narrow:
            self._narrow.append(narrow)
            self._notes.append(_NARROW.format(dtype=narrow))

    def with_moved_sums(
        self, counts: tuple[int, int], recorded: Sequence[ScriptRun], measured: Callable[[int], Measured]
    ) -> tuple[Measured, Measured] | None:
        """Returns two runs with other nudged runs where these move more; see `ScriptStudy`.  recorded: of both."""
        narrow = coarsest([run.narrow for run in recorded if run.narrow is not None])
        left = LeftSums((), sizes_of_terms(recorded[1].steps))
        if counts[0] == self._first:
            left = left._replace(true=self._truly_small(recorded[0], left))
        if narrow is None and not any(cancels(run.steps, left) for run in recorded):
            return None
        self.note_narrow(narrow)
        one, other = [self._with_moved_sums(measured(count), _Moved(count, narrow, left)) for count in counts]
        return one, other

    def _truly_small(self, recorded: ScriptRun, left: LeftSums) -> tuple[str, ...]:
        """Returns the parameters whose small gradients are no rounding.  recorded: a run of the first number."""
        terms = [left.of_step(step.number) for step in recorded.steps]
        nudged = [*map(_gradients_in, self._steps)]
        return tuple(sorted(truly_small(_gradients_in(recorded.steps), nudged, terms)))

    def _with_moved_sums(self, measured: Measured, how: _Moved) -> Measured:
        found = next((one for known, one in self._moved_sums if known == how), None)
        if found is None:
            replicas, narrow, left = how
            detailed = narrow is not None and replicas == self._first
            runs = [
                self._run(replicas, {}, nudge=pattern, sums=left, detailed=detailed, narrow=narrow)
                for pattern in NUDGES
            ]
            self._also += [run.steps for run in runs] if detailed else []
            moved = [one for one in map(self._outcome, runs) if one.error is None]
            found = measured.also_nudged(moved)
            self._moved_sums.append((how, found))
        return found

    def left_over(self, recorded: Sequence[ScriptRun], paths: Collection[str]) -> LeftOver:
        """Returns which elements of parameters, by path, rounding alone decides.

        recorded: two runs, the first one of the first number of replicas. Of a run with steps that are not known,
        nothing is.
        """
        if any(len(run.steps) != run.batches.made for run in recorded):
            return {}
        names = {value.path: value.name for value in recorded[0].values if value.path in paths and value.name}
        steps = [_gradients_in(run.steps) for run in recorded]
        found = left_over(steps, [*map(_gradients_in, self._steps)]) if names else {}
        return {path: found[name] for path, name in names.items() if name in found}


def _gradients_in(steps: Sequence[StepFacts]) -> list[Gradients]:
    return [gradients_of(step) for step in steps]
