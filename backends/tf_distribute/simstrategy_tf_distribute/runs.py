"""The runs of one TensorFlow program under MirroredStrategy, as the laws of the core need them.

Each number of replicas runs when a law needs it. The first runs twice, and three times nudged; another one runs a
second time where its first run raises or differs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.check.across import compare_across
from simstrategy.check.causes import Cause
from simstrategy.check.causes.running import explain_recordings
from simstrategy.check.compare import NUDGES, sensitivity
from simstrategy.check.meaning import lists_by_replica
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, Settings
from simstrategy.schedules import InOrder
from simstrategy.trace import Recording
from simstrategy_tf_distribute.devices import names
from simstrategy_tf_distribute.layers import layers_on_their_own
from simstrategy_tf_distribute.running import Run, run_once

__all__ = ["TensorFlowRuns"]

_GRADIENT: Final = "gradient of "
_PLACE: Final = "value "
"""How the subject of a reduction begins that has a number and no name."""

_NUDGES: Final = NUDGES


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
        names(max(replicas))  # TensorFlow makes its devices once, so the largest number comes first
        self.program = program
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = settings
        self.notes: list[str] = []
        self._seed = seed
        self._runs: dict[int, Run] = {}
        self._nudged: tuple[Run, ...] = ()
        self._measured: dict[int, Measured] = {}
        self._recordings: dict[int, Recording] = {}

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

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program with the next seed of Keras and TensorFlow."""
        return run_once(self.program, self._seed + 1, replicas).outcome

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause:
        """Returns the cause of a difference: of what was reduced in the steps, and layers that may be another one."""
        one, other = [_reductions(self._runs[count].recording) for count in counts]
        nudged = [_reductions(run.recording) for run in self._nudged] if counts[0] == self.replicas[0] else []
        cause = explain_recordings(one, other, nudged, counts=counts)
        variable = (cause.variable or "").removeprefix(_GRADIENT)
        hints = [] if cause.certain else list(layers_on_their_own(self._runs[counts[0]].models))
        unnamed = not variable or variable.startswith(_PLACE)
        return cause._replace(variable=None if unnamed else variable, text="\n  ".join([cause.text, *hints]))

    def close(self) -> None:
        """Forgets the models."""
        self._runs.clear()
        self._nudged = ()

    def _measure(self, replicas: int) -> Measured:
        run = self._runs[replicas] = run_once(self.program, self._seed, replicas)
        if replicas == self.replicas[0]:
            self._nudged = tuple([run_once(self.program, self._seed, replicas, one) for one in _NUDGES])
        nudged = [one.outcome for one in self._nudged] if replicas == self.replicas[0] else []
        self._recordings[replicas] = run.recording
        first = run.outcome
        found = Measured(first, first, tuple(nudged), sensitivity(first, nudged))
        if replicas != self.replicas[0] and self._agrees(replicas, found):
            return found._replace(ran_twice=False)
        return found._replace(again=run_once(self.program, self._seed, replicas).outcome)

    def _agrees(self, replicas: int, found: Measured) -> bool:
        """Returns whether a run gives what the first number of replicas gives."""
        first = self.measured(self.replicas[0])
        if first.first.error is not None or found.first.error is not None:
            return False
        counts = self.replicas[0], replicas
        lists = lists_by_replica(first.first, found.first, counts)
        compared = compare_across(first.side(counts[0], lists), found.side(replicas, lists), self.settings.exempt)
        return not compared.problems


def _reductions(recording: Recording) -> Recording:
    """Returns a recording of what was reduced alone: how optimizers write their variables is not recorded."""
    return recording._replace(writes=(), results=())
