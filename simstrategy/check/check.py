"""`check`: judges a program by laws, over backends, replica counts, workers and schedules."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simstrategy.check.checkers import checker_of
from simstrategy.check.given import BACKENDS, Given
from simstrategy.check.judging import judge
from simstrategy.check.laws import ALWAYS, BY_NAME
from simstrategy.check.openings import LINEAR
from simstrategy.check.outcome import Outcome, Program
from simstrategy.check.report import Report
from simstrategy.check.runs import Settings
from simstrategy.check.study import Nudge, ScheduleMaker, Study, recorded_again, run_on
from simstrategy.check.validation import (
    OnRow,
    arguments_of,
    exemptions_of,
    require_settings,
)
from simstrategy.device import open_backend
from simstrategy.schedules import Every, InOrder
from simstrategy.strategy import Semantics

__all__ = ["REPLICAS", "check", "run_here"]

REPLICAS: Final = (1, 2, 3, 4)
"""The numbers of replicas that are compared by default: 3 and 4 make parts of unequal sizes."""


def check(
    program: Program,
    *,
    backends: Sequence[str] = BACKENDS,
    replicas: Sequence[int] = REPLICAS,
    workers: Sequence[int] = (),
    schedules: Sequence[ScheduleMaker | Every] = (InOrder,),
    semantics: Semantics = Semantics.TF1_15,
    timeout_s: float = 600.0,
    allow_errors: bool = False,
    laws: Sequence[str] = (),
    without: Sequence[str] = (),
    same_on: Sequence[str] = (),
    order: str = LINEAR,
    exempt: Mapping[str, str] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    require: Sequence[str] = (),
    compiled: bool = False,
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs `program(strategy)` with all settings, compares the runs, and reports which laws the program breaks.

    program: returns a nest of arrays. backends: by name; the first is the reference. replicas: numbers of them in one
    process; the law of replicas compares with the first. workers: the same of processes, for backends that span them.
    schedules: functions that make a schedule, e.g. ``lambda: Seeded(1)``, or `Every`. semantics: the rules that every
    run follows, such as `Semantics.TF2`. timeout_s: of each run in worker processes. allow_errors: unless True, an
    error is a difference, even if it is the same everywhere. laws, without: laws to add to the default ones and to
    leave out, by name; "all" adds every one. same_on: in place of these, all on which the result must be the same, of
    "replicas", "order", "backends", "schedules" and "workers". order: of the simulator's additions. exempt: names of
    values that no law compares, such as ``"history/noise"``, each with the reason. vary: arguments of the program
    that cut the same work differently, with their values. require: what must have been tried, such as "uneven"; else
    nothing is judged. compiled: compiles every step as well. on_row: receives each row. Clauses: J-1 to J-74, P-9.

    Programs for other libraries' strategies: `checkers.py`. Raises InvalidArgument, and what opening a backend raises.

    >>> import simstrategy as ss
    >>> program = lambda strategy: strategy.reduce("SUM", strategy.run(lambda: strategy.xp.ones(())), axis=None)
    >>> ss.check(program, replicas=[1, 2]).findings[0].text.partition(";")[0]
    'result: 2.0 against 1.0'
    """
    require_settings(program, timeout_s, allow_errors, compiled, on_row)
    runs = backends, replicas, workers, schedules, semantics, compiled
    given = Given(*runs, laws, without, same_on, order, exemptions_of(exempt), arguments_of(program, vary), require)
    names = given.judged()
    settings = Settings(semantics, timeout_s, allow_errors, given.exempt, given.vary, given.asked, order, compiled)
    if (checker := checker_of(program)) is not None:
        names, settings = given.judged_of_runs(), settings._replace(workers=tuple(workers))
        return checker(program, replicas=replicas, settings=settings, laws=names, require=require, on_row=on_row)
    study = Study(program, backends, replicas, workers, schedules, settings)
    return judge(study, ALWAYS, BY_NAME, names, require, on_row, record=partial(recorded_again, study))


def run_here(
    program: Program, name: str, schedule: ScheduleMaker, *, replicas: int, nudge: int | None = None
) -> Outcome:
    """Opens a backend by name and runs a program on it once here.  nudge: a pattern of `device.UlpPerturbed`."""
    pattern = None if nudge is None else Nudge(nudge, functions=True)
    return run_on(open_backend(name, replicas=replicas), program, schedule, None, pattern)
