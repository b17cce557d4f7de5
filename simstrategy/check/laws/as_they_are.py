"""The law of replicas for a script as it is: it states nowhere that each number of replicas has one global batch.

Many scripts give each replica a batch of one size. Their runs train on other batches, which is no mistake.
"""

from collections.abc import Callable, Iterator
from typing import Final

from simstrategy.check.causes.facts import BATCH_GROWS
from simstrategy.check.laws.replicas import replicas
from simstrategy.check.row import Row
from simstrategy.check.runs import Runs

__all__ = ["OTHER_BATCHES", "of_scripts"]

OTHER_BATCHES: Final = "other global batches"
"""Why a row is not judged."""
_ADVICE: Final = (
    "the runs train on other batches, and this law has nothing to compare. Give each number of replicas one global "
    "batch, such as by an argument of the script: -- --batch-size '{64//replicas}'"
)


def _none_known(counts: tuple[int, int]) -> None:
    """Returns that nothing shows of the batches of two runs."""


def of_scripts(runs: Runs, grown: Callable[[tuple[int, int]], str | None] = _none_known) -> Iterator[Row]:
    """Yields the rows of the law of replicas; of runs that have other global batches, those that differ are not judged.

    grown: returns what shows that two numbers of replicas have other batches, as a sentence; None where nothing does.
    The cause of a difference may show it too.
    """
    first, *others = runs.replicas
    for count, row in zip(others, replicas(runs), strict=True):
        text = None if row.problem is None else grown((first, count)) or _shown_by(row)
        if text is None:
            yield row
        else:
            yield row._replace(problem=None, finding=None, undecided=f"{text}: {_ADVICE}", why=OTHER_BATCHES)


def _shown_by(row: Row) -> str | None:
    found = row.finding
    return None if found is None or found.kind != BATCH_GROWS else f"the {BATCH_GROWS}, at {found.source or found.site}"
