"""The runs of one program, as the laws that compare runs request them, whatever kind of program it is.

A law of this kind requests what is known of the program at a number of replicas, and runs with other arguments or other
orders. `study.py` has them for programs that take a strategy, `scripts/` for scripts that another library's launcher
starts, and a checker (`checkers.Checker`) for programs that take another library's strategy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from simstrategy.check.across import Side
from simstrategy.check.causes.facts import Cause
from simstrategy.check.compare import Sensitivity, compare, exactly, paths
from simstrategy.check.exempt import require_exemptions
from simstrategy.check.meaning import meaning_of
from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import Outcome, Program
from simstrategy.strategy import Semantics
from simstrategy.trace import Recording

__all__ = [
    "Measured",
    "RecordedRuns",
    "Runs",
    "Settings",
    "VariedRuns",
    "require_known",
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
    nothing: str = "the program returned nothing, and has no variable. Return what matters, such as losses and weights"
    """Why a run may have nothing to compare, and what to do, as a sentence."""


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

    @property
    def repeatable(self) -> bool:
        """Whether both runs gave the same bits."""
        return compare(self.first, self.again, exactly(self.first)).equal_bits

    def side(self, replicas: int, lists: frozenset[str] = frozenset()) -> Side:
        """Returns the run as a side of a comparison.  lists: the paths of lists that have an item for each replica."""
        moved = [meaning_of(one, lists) for one in self.nudged]
        return Side(replicas, meaning_of(self.first, lists), moved, self.first)


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

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program once, with another seed from which replicas draw seeds of their own."""

    def explain(self, counts: tuple[int, int], arguments: Mapping[str, Any]) -> Cause | None:
        """Returns why two runs differ; None where that is not looked for.

        counts: the numbers of replicas of the reference and of the other run. arguments: of the other run, in place of
        the first values of `vary`.
        """


class VariedRuns(Runs, Protocol):
    """What the laws of the cut and of order take."""

    def run_with(self, replicas: int, arguments: Mapping[str, Any]) -> Outcome:
        """Runs the program once, with arguments in place of the first values of `vary`."""

    def reordered(self, replicas: int) -> Iterator[tuple[str, Outcome]]:
        """Yields runs in other orders, of additions and of replicas, each with the name of its order."""


class RecordedRuns(Runs, Protocol):
    """What the law of state and `judging` take: runs in this process, each number of replicas recorded."""

    @property
    def program(self) -> Program:
        """The program."""

    @property
    def has_reference(self) -> bool:
        """Whether all replicas of a run are in this process."""

    @property
    def notes(self) -> list[str]:
        """What is worth knowing and breaks no law, as sentences: laws add to it."""

    def made(self) -> Mapping[int, Measured]:
        """Returns what has been measured so far, by the number of replicas."""

    def recorded(self, replicas: int) -> Recording:
        """Returns the recording of a run of `measured`."""

    def close(self) -> None:
        """Ends what the runs hold open."""


def tried_in(runs: RecordedRuns) -> set[str]:
    """Returns words of `remarks.REMARKS` for what the runs tried."""
    made = runs.made()
    tried = {"nudged"} if any(found.first.floats_put for found in made.values()) else set()
    for count in made:
        for parts in runs.recorded(count).parts:
            sizes = [size for _, size in parts.rows]
            tried |= {"uneven"} if len(set(sizes)) > 1 else set()
            tried |= {"empty"} if 0 in sizes else set()
    return tried


def require_known(exempt: Mapping[str, str], made: Iterable[Measured]) -> None:
    """Raises InvalidArgument for an exemption that names no value of any run."""
    known = dict.fromkeys(path for found in made for path in paths(found.first))
    if exempt and known:
        require_exemptions(exempt, known)
