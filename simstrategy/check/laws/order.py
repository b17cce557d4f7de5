"""The law of order: neither the order of additions nor that of the replicas changes a result beyond rounding.

The simulator adds in rank order; `ring` and `tree` add as real collectives do. `Seeded` schedules run the replicas in
other orders. `every_schedule` tries all orders of the replicas, up to a limit.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from simstrategy.check.laws.like_first import like_first
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, run_row
from simstrategy.check.study import Study
from simstrategy.schedules import Every, Seeded

__all__ = ["every_schedule", "order"]

_SEEDS: Final = (1, 2)
_ADDED: Final = {"linear": "added in rank order", "ring": "added as a ring", "tree": "added as a tree"}


def order(study: Study) -> Iterator[Row]:
    """Yields a row for each order of additions, and for two orders of the replicas, at each number of replicas.

    One replica has no order. Orders of additions are the simulator's: another reference backend has none to choose.
    """
    for count in study.replicas:
        if count == 1:
            continue
        for name in study.orders:
            yield _row(study, count, _ADDED[name], study.run(study.reference, count, order=name))
        for seed in _SEEDS:
            yield _row(study, count, f"Seeded({seed})", study.run(study.reference, count, partial(Seeded, seed)))


def _row(study: Study, count: int, what: str, other: Outcome) -> Row:
    row = law_row("order", study.reference, str(count))._replace(schedule=what)
    return like_first(study, count, other, row, (f"{_ADDED[study.settings.order]}, replicas in rank order", what))


def every_schedule(study: Study, count: int, every: Every) -> Row:
    """Returns the row of all orders of the replicas, up to the limit of `every`, or until one differs."""
    found, name = study.measured(count), study.reference
    worst: Row | None = None
    runs = 0
    for schedule in every:
        outcome = study.run(name, count, lambda: schedule)  # noqa: B023 - it is called before the next one
        runs += 1
        row = run_row(name, str(count), schedule, (found.first,), (outcome,), [found.one_ulp])
        if worst is None or row.problem is not None or row.distance > worst.distance:
            worst = row
        if row.problem is not None:
            break
    assert worst is not None  # an `Every` has at least one schedule
    if worst.problem is None:
        worst = worst._replace(schedule=f"all {runs} orders" if every.complete else f"{runs} of more orders")
    return worst._replace(law="schedules")
