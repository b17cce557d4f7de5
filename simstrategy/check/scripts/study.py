"""The runs of a script, as the laws request them: each with the arguments that its number of replicas gives."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.check.causes.facts import Cause
from simstrategy.check.causes.steps import explain_steps
from simstrategy.check.compare import NUDGES, sensitivity
from simstrategy.check.outcome import Outcome
from simstrategy.check.runs import Measured, Settings, require_known
from simstrategy.check.scripts.facts import Runner, ScriptRun, ScriptSettings
from simstrategy.check.scripts.outcomes import outcome_of
from simstrategy.check.scripts.templates import REPLICAS, filled
from simstrategy.sim import ORDERS

__all__ = ["ScriptStudy"]

_ADDED: Final = "{}: order of additions"


@final
class ScriptStudy:
    """A script, its arguments, and its runs.  arguments: with what stands for numbers in braces.

    pattern: of the lines of its output whose numbers are compared; None for none.
    """

    def __init__(
        self,
        runner: Runner,
        arguments: Sequence[str],
        replicas: Sequence[int],
        settings: Settings,
        pattern: "re.Pattern[str] | None",
    ) -> None:
        self.replicas = tuple(dict.fromkeys(replicas))
        self.settings = settings._replace(nothing=runner.nothing)
        self.notes: list[str] = []
        """What limits the runs, as sentences."""
        self.events: dict[int, int] = {}
        """How many synchronisation points and steps the first run had, by the number of replicas."""
        self._runner = runner
        self._arguments = tuple(arguments)
        self._pattern = pattern
        self._measured: dict[int, Measured] = {}
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

        A run that fails is not repeated.
        """
        found = self._measured.get(replicas)
        if found is None:
            run = self._run(replicas, {})
            self.notes += [note for note in run.notes if note not in self.notes]
            self.events[replicas] = run.events
            first = again = self._outcome(run)
            moved: tuple[Outcome, ...] = ()
            if first.error is None:
                again = self._outcome(self._run(replicas, {}))
                nudged = [self._outcome(self._run(replicas, {}, nudge=pattern)) for pattern in NUDGES]
                moved = tuple(one for one in nudged if one.error is None)
            found = self._measured[replicas] = Measured(first, again, moved, sensitivity(first, moved))
        return found

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        return self._outcome(self._run(replicas, arguments))

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the script once: a replica draws no seeds of the strategy."""
        return self._outcome(self._run(replicas, {}))

    def reordered(self, replicas: int) -> Iterator[tuple[str, Outcome]]:
        """Yields runs in the other orders of additions, with their names."""
        for order in ORDERS:
            if order != self.settings.order:
                yield _ADDED.format(order), self._outcome(self._run(replicas, {}, order=order))

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Runs the script again, recorded with its gradients, and returns why two runs differ."""
        one, other = [
            self._run(count, given, detailed=True) for count, given in zip(counts, ({}, arguments), strict=True)
        ]
        nudged = [self._run(counts[0], {}, detailed=True, nudge=pattern).steps for pattern in NUDGES]
        first = {name: self.settings.vary[name][0] for name in arguments}
        numbers = {
            name: (first[name], value) for name, value in arguments.items() if type(value) is type(first[name]) is int
        }
        who = None
        if arguments:
            texts = [", ".join(f"{name}={value}" for name, value in given.items()) for given in (first, arguments)]
            who = (texts[0], texts[1])
        return explain_steps(one.steps, other.steps, nudged=nudged, counts=counts, varied=numbers, who=who)

    def tried(self) -> set[str]:
        """Returns words of `REMARKS` for what the runs tried."""
        return {"nudged"} if any(found.first.floats_put for found in self._measured.values()) else set()

    def require_exemptions(self) -> None:
        """Raises InvalidArgument for an exemption that names no value of any run."""
        require_known(self.settings.exempt, self._measured.values())

    def _values(self, replicas: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
        first = {name: values[0] for name, values in self.settings.vary.items()}
        return {REPLICAS: replicas} | first | {**arguments}

    def _run(
        self,
        replicas: int,
        arguments: Mapping[str, Any],
        *,
        nudge: int | None = None,
        order: str | None = None,
        detailed: bool = False,
    ) -> ScriptRun:
        given = filled(self._arguments, self._values(replicas, arguments))
        return self._runner.run(ScriptSettings(replicas, given, order or self.settings.order, nudge, detailed))

    def _outcome(self, run: ScriptRun) -> Outcome:
        return outcome_of(run, self._pattern)
