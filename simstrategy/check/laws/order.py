"""The law of order: neither the order of additions nor that of the replicas changes a result beyond rounding.

The simulator adds in rank order; `ring` and `tree` add as real collectives do. `Seeded` schedules run the replicas in
other orders. `every_schedule` tries all orders of the replicas, up to a limit.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from simstrategy.check.laws.like_first import like_first
from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import law_row, run_row
from simstrategy.check.runs import VariedRuns
from simstrategy.check.shown import of_replicas
from simstrategy.check.study import Study
from simstrategy.schedules import Every, Recorded, Replayed

__all__ = ["every_schedule", "order"]

_FIRST: Final = {
    "linear": "added in rank order, replicas in rank order",
    "ring": "added as a ring, replicas in rank order",
    "tree": "added as a tree, replicas in rank order",
}
"""What the reference is called, by its order of additions."""


def order(study: VariedRuns) -> Iterator[Row]:
    """Yields a row for each other order, of additions and of the replicas, at each number of replicas above 1."""
    for count in study.replicas:
        if count > 1:
            for way, other in study.reordered(count):
                row = law_row("order", study.reference, str(count), way.name)
                row = like_first(study, count, other, row, (_FIRST[study.settings.order], way.name))
                yield shown_in(row, (of_replicas(count), way))


def every_schedule(study: Study, count: int, every: Every) -> Row:
    """Returns the row of all orders of the replicas, up to the limit of `every`, or until one differs."""
    found, name = study.measured(count), study.reference
    worst: Row | None = None
    runs = 0
    for schedule in every:
        recorded = Recorded(schedule)
        outcome = study.run(name, count, lambda: recorded)  # noqa: B023 - it is called before the next one
        runs += 1
        row = run_row(name, str(count), schedule, (found.first,), (outcome,), [found.one_ulp])._replace(law="schedules")
        if worst is None or row.problem is not None or row.distance > worst.distance:
            worst = row
        if row.problem is not None:
            replayed = partial(Replayed, tuple(recorded.draws))
            way = of_replicas(count)._replace(name="another order", schedule=replayed)
            worst = shown_in(row, (of_replicas(count), way))
            break
    assert worst is not None  # an `Every` has at least one schedule
    if worst.problem is None:
        worst = worst._replace(schedule=f"all {runs} orders" if every.complete else f"{runs} of more orders")
    return worst
