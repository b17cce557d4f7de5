"""Runs a program again for its cause: line by line, or with layers as in a prediction.

Either takes more runs than the check itself, and is tried only where no kind follows from what was reduced.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from simstrategy.check.causes import Cause
from simstrategy.check.causes.alignment import aligned
from simstrategy.check.causes.facts import DRAWS, STATISTICS
from simstrategy.check.causes.layers import of_layers
from simstrategy.check.causes.named import Named
from simstrategy.check.causes.recordings import facts_of
from simstrategy.check.causes.running import explain_recordings
from simstrategy.check.causes.wording import listed
from simstrategy.check.compare import NUDGES
from simstrategy.check.runs import Measured, agree
from simstrategy.launch.predicting import without_training
from simstrategy.trace.recording import EventAt, Recording
from simstrategy_tf_distribute.layers import OwnPart
from simstrategy_tf_distribute.running import Run, run_closely, run_once

__all__ = ["Again"]

_AGREE: Final = "With training=False in {names}, the runs agree"


_FIRST_MAX: Final = 100
"""The last step up to which runs are made that end after it: a step takes ten times longer where it is not compiled."""
_STEPS_MAX: Final = 40
"""The most steps of runs that are made to their end."""
_REDUCTIONS: Final = ("all_reduce", "reduce")


@final
class Again:
    """Runs one program again.  exempt: as of `Settings`."""

    def __init__(self, program: Callable[[Any], Any], seed: int, exempt: Mapping[str, str]) -> None:
        self._program, self._seed, self._exempt = program, seed, exempt
        self._runs: dict[tuple[int, int | None, int | None], Run] = {}

    def line_by_line(
        self,
        counts: tuple[int, int],
        known: tuple[Measured, Measured],
        recorded: tuple[Recording, Recording],
        step: int,
    ) -> Cause | None:
        """Returns the cause that runs line by line show, with a kind or without one.  Clause: J-77.

        None where they show none, or give something else than the runs before. counts: the numbers of replicas of two
        runs that differ, the reference first. known, recorded: what is known of each, and its recording. step: the
        first in which something differs that was reduced; 0 where nothing does. The runs end after this step; where
        that shows no kind, they are made to the end, if they have few steps.
        """
        found = None
        if 0 < step <= _FIRST_MAX:
            both = [self._closely(count, last=step) for count in counts]
            if all(_reduces_alike(*one) for one in zip(recorded, both, counts, strict=True)):
                found = self._explained(counts, both, step, _steps_of(recorded[1]))
                if found is not None and found.kind is not None:
                    return found
        if any(_steps_of(recording) > _STEPS_MAX for recording in recorded):
            return found
        both = [self._closely(count) for count in counts]
        ended = zip(known, both, counts, strict=True)
        if not all(agree(before, _shown(run), (count, count), self._exempt) for before, run, count in ended):
            return found
        return self._explained(counts, both) or found

    def _explained(
        self, counts: tuple[int, int], both: Sequence[Run], last: int | None = None, steps: int = 0
    ) -> Cause | None:
        nudged = [self._closely(counts[0], one, last).recording for one in NUDGES]
        named = Named(both[0].named, both[1].named)
        cause = explain_recordings(
            both[0].recording, both[1].recording, nudged, counts=counts, named=named, steps=steps
        )
        if cause.step is None:
            return None
        # Its number is one of these runs, and not of the recording that a check keeps.
        return cause._replace(number=None, at=EventAt(cause.site or "", cause.step))

    def predicting(self, cause: Cause, layers: Sequence[OwnPart], counts: tuple[int, int]) -> Cause | None:
        """Returns the cause with its kind where two runs agree once layers do what they do outside of training.

        Clause: J-78. None where they do not. cause: one without a kind. layers: those whose result on a replica depends
        on the other examples there; those that a program has written itself are left out, because without training they
        may do something else than that, too. counts: as of `line_by_line`.
        """
        for some in _groups([one for one in layers if one.is_keras]):
            with without_training({one.layer for one in some}):
                one, other = [_shown(run_once(self._program, self._seed, count)) for count in counts]
            if agree(one, other, counts, self._exempt):
                kinds = [*dict.fromkeys([STATISTICS if one.has_statistics else DRAWS for one in some])]
                agrees = _AGREE.format(names=listed([one.name for one in some]))
                return of_layers(cause, kinds, [*[one.text for one in some], agrees])
        return None

    def close(self) -> None:
        """Forgets the runs, with their models."""
        self._runs.clear()

    def _closely(self, count: int, pattern: int | None = None, last: int | None = None) -> Run:
        found = self._runs.get((count, pattern, last))
        if found is None:
            found = run_closely(self._program, self._seed, count, pattern, last)
            self._runs[count, pattern, last] = found
        return found


def _shown(run: Run) -> Measured:
    return Measured.of_one(run.outcome)


def _steps_of(recording: Recording) -> int:
    return max([point.step for point in recording.points], default=0)


def _reduces_alike(recorded: Recording, run: Run, count: int) -> bool:
    """Returns whether a run that was ended has reduced what was recorded before.  count: of replicas."""
    steps = _steps_of(run.recording)
    before, now = [
        [one for one in facts_of(recording) if one.step <= steps and one.what in _REDUCTIONS]
        for recording in (recorded, run.recording)
    ]
    pairs = aligned(before, now, (), (count, count))
    return bool(pairs) and all(pair.one is not None and not pair.differs for pair in pairs)


def _groups(layers: Sequence[OwnPart]) -> Iterator[Sequence[OwnPart]]:
    """Yields layers of one kind, and then all, where there are two kinds."""
    kinds = [[one for one in layers if one.has_statistics is has] for has in (True, False)]
    yield from [some for some in kinds if some]
    if all(kinds):
        yield [one for some in kinds for one in some]
