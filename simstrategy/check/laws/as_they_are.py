"""The law of replicas for a script as it is, which was not written to give the same with each number of replicas.

Many scripts give each replica a batch of one size, so that their runs train on other batches, or let each draw numbers
of its own, as for dropout. That is no mistake, and such runs have nothing to be compared.
"""

from collections.abc import Callable, Iterator
from typing import Final

from simstrategy.check.causes.facts import BATCH_GROWS, DRAWS
from simstrategy.check.laws.replicas import replicas
from simstrategy.check.row import Row
from simstrategy.check.runs import Runs

__all__ = ["OTHER_BATCHES", "OWN_DRAWS", "of_scripts"]

Shows = Callable[[tuple[int, int]], str | None]

OTHER_BATCHES: Final = "other global batches"
OWN_DRAWS: Final = "each replica draws numbers of its own"
"""Why a row is not judged."""
_ADVICE: Final = {
    OTHER_BATCHES: "the runs train on other batches, and this law has nothing to compare. Give each number of replicas "
    "one global batch. Where an argument of the script is the batch of each replica: -- --batch-size '{64//replicas}'",
    OWN_DRAWS: "the result depends on them, and this law has nothing to compare. To compare, draw for each example, or "
    "for the whole batch, such as from a key that no device changes; or switch the draws off, such as by a rate of 0",
}


def _none_known(counts: tuple[int, int]) -> None:
    """Returns that nothing shows of two runs."""


def of_scripts(runs: Runs, other: Shows = _none_known, drawn: Shows = _none_known) -> Iterator[Row]:
    """Yields the rows of the law of replicas; some of those that differ are not judged.

    other: returns what shows that two numbers of replicas have other batches, as a sentence; None where nothing does.
    drawn: returns where each replica draws numbers, as in ``at train.py:31``, in the same way. The cause of a
    difference may show either. A recognised mistake stays a finding beside draws.
    """
    first, *others = runs.replicas
    for count, row in zip(others, replicas(runs), strict=True):
        found = None if row.problem is None else _lawful(row, (first, count), other, drawn)
        if found is None:
            yield row
        else:
            why, text = found
            yield row._replace(problem=None, finding=None, undecided=f"{text}: {_ADVICE[why]}", why=why)


def _lawful(row: Row, counts: tuple[int, int], other: Shows, drawn: Shows) -> tuple[str, str] | None:
    """Returns why runs that differ may do so, and what shows it; None where nothing does."""
    text = other(counts)
    if text is not None:
        return OTHER_BATCHES, text
    cause = row.finding
    if cause is None:
        return None
    kinds, site = {cause.kind, *cause.also} - {None}, cause.source or cause.site
    if BATCH_GROWS in kinds:
        return OTHER_BATCHES, f"the {BATCH_GROWS}, at {site}"
    line = drawn(counts) if not kinds or DRAWS in kinds else None
    if line is None and DRAWS in kinds:
        line = f"at {site}"
    return None if line is None else (OWN_DRAWS, f"each replica draws random numbers of its own, {line}")
