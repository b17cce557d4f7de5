"""Where the values of a name at a line begin to differ from the reference's, and what is found wrong there."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simstrategy.check.causes.facts import Finding
from simstrategy.check.causes.held import Held, History, Key, Run

__all__ = ["Fault", "Spot"]


class Spot(NamedTuple):
    """A name at a line, where its values begin to differ.

    reference, other: all that both runs held. expected, found: the histories. time: the first one of the other run that
    differs. counts: the numbers of replicas. both: the histories of all names that both runs have, in order, that of
    the reference first.
    """

    reference: Run
    other: Run
    expected: History
    found: History
    time: int
    counts: tuple[int, int]
    both: Mapping[Key, tuple[History, History]]

    @property
    def one(self) -> Held:
        """The value of replica 0."""
        values = self.found.values[0]
        return values[min(self.time, len(values) - 1)]

    @property
    def pairs(self) -> tuple[Sequence[Held], Sequence[Held]] | None:
        """The reference's values and those of all replicas at that time; None where the turns do not correspond."""
        times = self.expected.times, self.found.times
        if times[0] is None or times[0] != times[1]:
            return None
        sides = [[values[self.time] for values in history.values] for history in (self.expected, self.found)]
        return sides[0], sides[1]

    @property
    def has_other_rows(self) -> bool:
        """Whether the rows of an array have another shape than the reference's in that step, on any replica.

        So it is where each replica pads its own part: such values are not compared.
        """
        sides = [self._rows_of_step(history) for history in (self.expected, self.found)]
        return bool(sides[0]) and not sides[1] <= sides[0]

    def _rows_of_step(self, history: History) -> set[tuple[int, ...]]:
        values = [one for run in history.values for one in run if one.step == self.one.step]
        return {leaf.shape[1:] for one in values for leaf in one.leaves if leaf.ndim > 1}


class Fault(NamedTuple):
    """A value of a script that is wrong first, and what it shows.

    is_backward: whether it is what a backward pass of the script returns, in which the fault may be found. is_unlike:
    whether no more is known than that it is another value than the reference's: an effect on a step is not shown.
    """

    one: Held
    finding: Finding
    is_backward: bool = False
    is_unlike: bool = False
