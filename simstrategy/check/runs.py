"""The runs of one program, as the laws that compare runs request them, whatever kind of program it is.

A law of this kind requests what is known of the program at a number of replicas, and runs with other arguments or other
orders. `study.py` has them for programs that take a strategy, `scripts/` for scripts that another library's launcher
starts, and a checker (`checkers.Checker`) for programs that take another library's strategy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from simstrategy.check.across import Across, Side, compare_across
from simstrategy.check.causes.facts import Cause
from simstrategy.check.compare import Sensitivity, compare, exactly, paths, sensitivity
from simstrategy.check.exempt import require_exemptions
from simstrategy.check.left_over import LeftOver
from simstrategy.check.meaning import lists_by_replica, meaning_of
from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import Outcome, Program
from simstrategy.check.shown import Way
from simstrategy.strategy import Semantics
from simstrategy.trace import Recording

__all__ = [
    "Measured",
    "RecordedRuns",
    "RepeatedRuns",
    "Runs",
    "Settings",
    "VariedRuns",
    "agree",
    "compared",
    "nudged_in",
    "require_known",
    "seeds_drawn",
    "sides",
    "tried_in",
]


class Settings(NamedTuple):
    """The settings that all runs of a check share."""

    semantics: Semantics = Semantics.TF1_15
    timeout_s: float = 600.0
    allow_errors: bool = False
    exempt: Mapping[str, str] = {}
    """Names of values that the laws do not compare, each with its reason."""
    vary: Mapping[str, Sequence[Any]] = {}
    """Arguments of the program, and the values of each; the first of each is given in all other runs."""
    asked: Collection[str] = ()
    """The names of the laws that were asked for by name: where such a law cannot judge, nothing is judged."""
    order: str = LINEAR
    """Of the simulator's additions, in all runs of which a law does not choose another one."""
    compiled: bool = False
    """Whether every step is compiled as well, and compared with its tasks."""
    workers: Sequence[int] = ()
    """Numbers of processes, for a program of another library's strategy; `study.py` has those of other programs."""
    nothing: str = "the program returned nothing, and has no variable. Return what matters, such as losses and weights"
    """Why a run may have nothing to compare, and what to do, as a sentence."""
    undeclared: str = (
        "the program has no mirrored variable and returns no Mirrored value. Keep state in an ss.Variable, or name it "
        "in strategy.require_equal_after_run"
    )
    """Why nothing may be declared equal on all replicas, and what to do, as a sentence."""
    unequal: str = (
        "combine what replicas write, as by an aggregation; where each replica keeps a value of its own, give the "
        "variable VariableSynchronization.ON_READ"
    )
    """What to do where something is declared equal on all replicas and is not, as a sentence."""


class Measured(NamedTuple):
    """What is known of a program on the reference backend at one number of replicas.

    first, again: two identical runs. nudged: runs whose inputs were moved by one ulp. one_ulp: how far they move.
    ran_twice: False where `again` is `first`, which agrees with another number of replicas; it has no row of its own.
    """

    first: Outcome
    again: Outcome
    nudged: tuple[Outcome, ...]
    one_ulp: Sensitivity
    ran_twice: bool = True

    @classmethod
    def of_one(cls, outcome: Outcome, nudged: Sequence[Outcome] = ()) -> "Measured":
        """Returns what one run shows.  nudged: those that measure rounding; without them the smallest bound counts."""
        return cls(outcome, outcome, tuple(nudged), sensitivity(outcome, nudged))

    @property
    def repeatable(self) -> bool:
        """Whether both runs gave the same bits."""
        return compare(self.first, self.again, exactly(self.first)).equal_bits

    def also_nudged(self, runs: Sequence[Outcome]) -> "Measured":
        """Returns the same with more nudged runs, which measure rounding together with those that there are."""
        every = (*self.nudged, *runs)
        return self._replace(nudged=every, one_ulp=sensitivity(self.first, every))

    def side(self, replicas: int, lists: frozenset[str] = frozenset()) -> Side:
        """Returns the run as a side of a comparison.  lists: the paths of lists that have an item for each replica."""
        moved = [meaning_of(one, lists) for one in self.nudged]
        return Side(replicas, meaning_of(self.first, lists), moved, self.first)


def sides(one: Measured, other: Measured, counts: tuple[int, int]) -> tuple[Side, Side]:
    """Returns two runs with these numbers of replicas as the sides of a comparison."""
    lists = lists_by_replica(one.first, other.first, counts)
    return one.side(counts[0], lists), other.side(counts[1], lists)


def compared(one: Measured, other: Measured, counts: tuple[int, int], exempt: Mapping[str, str]) -> Across:
    """Compares what two runs with these numbers of replicas mean."""
    return compare_across(*sides(one, other, counts), exempt)


def agree(one: Measured, other: Measured, counts: tuple[int, int], exempt: Mapping[str, str]) -> bool:
    """Returns whether two runs with these numbers of replicas ended without an error and mean the same."""
    ended = one.first.error is None and other.first.error is None
    return ended and not compared(one, other, counts, exempt).problems


def seeds_drawn(made: Mapping[int, Measured], counts: Iterable[int]) -> tuple[str, ...]:
    """Returns the labels of the seeds that the replicas of measured runs drew."""
    return tuple(dict.fromkeys(label for count in counts for label in made[count].first.seeds))


class Runs(Protocol):
    """What the law of replicas takes."""

    @property
    def replicas(self) -> Sequence[int]:
        """The numbers of replicas, each once; the first is the reference."""

    @property
    def settings(self) -> Settings: ...

    @property
    def reference(self) -> str:
        """The name of what runs the program, for the rows."""

    @property
    def schedule(self) -> str:
        """The order in which the replicas of the reference run, for the rows."""

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program at a number of replicas; runs it at the first call."""

    def drawn_from(self, counts: tuple[int, int]) -> Sequence[str]:
        """Returns from what replicas draw numbers of their own, for people, in runs that differ; () for nothing."""

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program once, where these give replicas other numbers."""

    def with_moved_sums(self, counts: tuple[int, int]) -> tuple[Measured, Measured] | None:
        """Returns two runs that differ with other nudged runs, in which also what cancelled in sums has moved.

        None where no sum has such elements, or where this is not known.
        """

    def left_over(self, counts: tuple[int, int], arguments: Mapping[str, Any], paths: Collection[str]) -> LeftOver:
        """Returns which elements of values that could not be judged rounding alone decides; see `left_over.py`.

        counts, arguments: as of `explain`. paths: of these values. Nothing is found where gradients are not known.
        """

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Returns why two runs differ; None where that is not looked for.

        counts: the numbers of replicas of the reference and of the other run. arguments: of the other run, in place of
        the first values of `vary`.
        """


class VariedRuns(Runs, Protocol):
    """What the laws of the cut and of order take."""

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        """Runs the program once, with arguments in place of the first values of `vary`."""

    def reordered(self, replicas: int) -> Iterator[tuple[Way, Outcome]]:
        """Yields runs in other orders, of additions and of replicas, each with its way, named after the order."""


class RecordedRuns(Runs, Protocol):
    """What the law of state and `judging` take: runs whose replicas are all known here, each number recorded."""

    @property
    def program(self) -> Program:
        """The program."""

    @property
    def has_reference(self) -> bool:
        """Whether all replicas of a run are known in this process."""

    @property
    def notes(self) -> list[str]:
        """What is worth knowing and breaks no law, as sentences: laws add to it."""

    def made(self) -> Mapping[int, Measured]:
        """Returns what has been measured so far, by the number of replicas."""

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of a run of `measured`."""

    def close(self) -> None:
        """Ends what the runs hold open, and forgets what they gave."""


class RepeatedRuns(RecordedRuns, VariedRuns, Protocol):
    """What the law of resume takes: recorded runs of a program that can be run again with other arguments."""


def tried_in(runs: RecordedRuns) -> set[str]:
    """Returns words of `remarks.REMARKS` for what the runs tried."""
    made = runs.made()
    tried = nudged_in(made.values())
    for count in made:
        for parts in runs.recorded(count).parts:
            sizes = [size for _, size in parts.rows]
            tried |= {"uneven"} if len(set(sizes)) > 1 else set()
            tried |= {"empty"} if 0 in sizes else set()
    return tried


def nudged_in(made: Iterable[Measured]) -> set[str]:
    """Returns the word of `remarks.REMARKS` for inputs that were moved by one ulp, or nothing."""
    return {"nudged"} if any(found.first.floats_put for found in made) else set()


def require_known(exempt: Mapping[str, str], made: Iterable[Measured]) -> None:
    """Raises InvalidArgument for an exemption that names no value of any run."""
    known = dict.fromkeys(path for found in made for path in paths(found.first))
    if exempt and known:
        require_exemptions(exempt, known)
