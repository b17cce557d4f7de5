"""Where the values of a name at a line begin to differ from the reference's, and what is found wrong there."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from simstrategy.check.causes.facts import Finding, Host
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

        So it is where each replica pads its own part: such values are not compared. Where replicas together have as
        many elements as the reference, they may be cut along another axis.
        """
        there, here = [self._arrays_of_step(history) for history in (self.expected, self.found)]
        widths = [{leaf.shape[1:] for leaf in leaves if leaf.ndim > 1} for leaves in (there, here)]
        is_cut = sum(leaf.size for leaf in there) == sum(leaf.size for leaf in here)
        return bool(widths[0]) and not widths[1] <= widths[0] and not is_cut

    def _arrays_of_step(self, history: History) -> list[Host]:
        values = [one for run in history.values for one in run if one.step == self.one.step]
        return [leaf for one in values for leaf in one.leaves]


class Fault(NamedTuple):
    """A value of a script that is wrong first, and what it shows.

    is_backward: whether it is what a backward pass of the script returns, in which the fault may be found. is_unlike:
    whether no more is known than that it is another value than the reference's: an effect on a step is not shown.
    """

    one: Held
    finding: Finding
    is_backward: bool = False
    is_unlike: bool = False
