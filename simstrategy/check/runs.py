"""What the laws need of a program's runs, whatever library it is written for.  It runs nothing.

`study.Study` has the runs of programs for simstrategy's strategies. A checker of another library's programs has its own
(`checkers.Checker`), and `judging.judge_runs` judges both by the same laws.
"""

from typing import Protocol

from simstrategy.check.causes import Cause
from simstrategy.check.compare import paths
from simstrategy.check.exempt import require_exemptions
from simstrategy.check.outcome import Outcome, Program
from simstrategy.check.study import Measured, Settings

__all__ = ["Runs", "require_known", "tried_in"]


class Runs(Protocol):
    """The runs of one program with several numbers of replicas, each made once, when a law needs it."""

    @property
    def program(self) -> Program:
        """The program."""

    @property
    def settings(self) -> Settings:
        """The settings of all runs."""

    @property
    def replicas(self) -> tuple[int, ...]:
        """The numbers of replicas, without repetitions; the first is the reference."""

    @property
    def has_reference(self) -> bool:
        """Whether all replicas of a run are in this process."""

    @property
    def reference(self) -> str:
        """The name of what runs the program, for rows: a backend, or a strategy of another library."""

    @property
    def label(self) -> str:
        """The name for rows without a run."""

    @property
    def notes(self) -> list[str]:
        """What is worth knowing and breaks no law, as sentences: laws add to it."""

    def measured(self, replicas: int) -> Measured:
        """Returns what is known of the program with a number of replicas; runs it at the first call."""

    def made(self) -> tuple[Measured, ...]:
        """Returns what has been measured so far."""

    def ran_twice(self, replicas: int) -> bool:
        """Returns whether a measured number of replicas ran twice, so that its row states that it is repeatable."""

    def reseeded(self, replicas: int) -> Outcome:
        """Runs the program with another seed for what replicas draw by `ctx.seed`."""

    def explain(self, counts: tuple[int, int]) -> Cause:
        """Returns the cause of the difference of the results of two numbers of replicas."""

    def close(self) -> None:
        """Ends what the runs hold open."""


def tried_in(runs: Runs) -> set[str]:
    """Returns words of `remarks.REMARKS` for what the runs tried."""
    made = runs.made()
    tried = {"nudged"} if any(found.first.floats_put for found in made) else set()
    for found in made:
        for parts in found.recording.parts:
            sizes = [size for _, size in parts.rows]
            tried |= {"uneven"} if len(set(sizes)) > 1 else set()
            tried |= {"empty"} if 0 in sizes else set()
    return tried


def require_known(runs: Runs) -> None:
    """Raises InvalidArgument for an exemption of the settings that names no value of any run."""
    known = dict.fromkeys(path for found in runs.made() for path in paths(found.first))
    if runs.settings.exempt and known:
        require_exemptions(runs.settings.exempt, known)
