"""Backends and schedules: at each number of replicas, every backend and schedule gives what the reference gives.

The reference is the first backend, with its replicas in rank order. It runs twice and must give the same bits.
"""

from collections.abc import Iterator

from simstrategy.check.laws.order import every_schedule
from simstrategy.check.laws.repeat import repeated
from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import if_repeatable, run_row
from simstrategy.check.shown import of_replicas
from simstrategy.check.study import ScheduleMaker, Study
from simstrategy.schedules import Every, InOrder

__all__ = ["backends"]


def backends(study: Study) -> Iterator[Row]:
    """Yields for each number of replicas the reference's row, and one for each other backend and schedule."""
    names = study.openings.in_process
    for count in study.replicas if names else ():
        found, label = study.measured(count), str(count)
        reference, one_ulp = (found.first,), [found.one_ulp]
        yield repeated(study, count)
        for name in names:
            for schedule in study.schedules:
                # One replica has no order, and in order is the reference: nothing would be compared.
                if name == names[0] and (count == 1 or _is_in_order(schedule)):
                    continue
                if isinstance(schedule, Every):
                    if name == names[0]:
                        yield if_repeatable(every_schedule(study, count, schedule), repeatable=found.repeatable)
                    continue
                outcome = study.run(name, count, schedule)
                row = run_row(name, label, schedule(), reference, (outcome,), one_ulp)
                row = if_repeatable(row, repeatable=found.repeatable)
                row = row if name != names[0] else row._replace(law="schedules")
                first = of_replicas(count)
                way = first._replace(name=f"{name}, {row.schedule}", backend=name, schedule=schedule)
                yield shown_in(row, (first, way))


def _is_in_order(schedule: ScheduleMaker | Every) -> bool:
    return not isinstance(schedule, Every) and isinstance(schedule(), InOrder)
