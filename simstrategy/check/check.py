"""`check`: judges a program by laws, over backends, replica counts, workers and schedules."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from simstrategy.check.checkers import checker_of
from simstrategy.check.laws import ALWAYS, BY_NAME
from simstrategy.check.outcome import Outcome, Program, program_name
from simstrategy.check.remarks import remarks_of, require_remarks
from simstrategy.check.report import Report
from simstrategy.check.row import Row
from simstrategy.check.study import Nudge, ScheduleMaker, Settings, Study, run_on
from simstrategy.check.validation import (
    BACKENDS,
    OnRow,
    arguments_of,
    chosen,
    exemptions_of,
    require_defaults,
    require_lists,
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
    exempt: Mapping[str, str] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    require: Sequence[str] = (),
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs `program(strategy)` with all settings, compares the runs, and reports which laws the program breaks.

    program: returns a nest of arrays. backends: by name; the first is the reference. replicas: numbers of them in one
    process; the law of replicas compares with the first. workers: the same of processes, for backends that span them.
    schedules: functions that make a schedule, e.g. ``lambda: Seeded(1)``, or `Every`. timeout_s: of each run in
    worker processes. allow_errors: unless True, a program that raises is a difference, even if it raises the same
    everywhere. laws, without: laws to add to the default ones and to leave out, by name; "all" adds every one.
    exempt: names of values that no law compares, such as ``"history/noise"``, each with the reason. vary: arguments
    of the program that cut the same work differently, with the values of each. require: what must have been tried,
    such as "uneven"; else nothing is judged. on_row: receives each row when it is ready.

    The reference runs twice and must give the same bits. What may differ because of rounding, and what cannot be
    judged, is stated in clauses J-1 to J-31. A program whose parameter has the type of another library's strategy is
    run by the checker that is installed for it (`check.checkers`). Raises InvalidArgument for settings that cannot be
    run, and what opening a backend raises.

    >>> def program(strategy):
    ...     return strategy.reduce("SUM", strategy.run(lambda: strategy.xp.ones(())), axis=None)
    >>> check(program, replicas=[1, 2]).findings[0].text.partition(";")[0]
    'result: 1.0 against 2.0'
    """
    runs = {"backends": backends, "replicas": replicas, "workers": workers, "schedules": schedules}
    require_lists(**runs, semantics=[semantics], laws=laws, without=without, require=require)
    require_settings(program, timeout_s, allow_errors, on_row)
    names, exemptions, varied = chosen(laws, without), exemptions_of(exempt), arguments_of(program, vary)
    require_remarks(require)
    if (checker := checker_of(program)) is not None:
        require_defaults(backends, workers, schedules, semantics, [*laws, *without, *exemptions, *varied, *require])
        return checker(program, replicas=replicas, allow_errors=allow_errors, on_row=on_row)
    settings = Settings(semantics, timeout_s, allow_errors, exemptions, varied, frozenset(laws))
    with closing(Study(program, backends, replicas, workers, schedules, settings)) as study:
        rows = list(_rows(study, names, on_row))
        return Report(program_name(program), rows, remarks_of(rows, study.tried()), require, study.notes)


def _rows(study: Study, names: Sequence[str], on_row: OnRow) -> Iterator[Row]:
    for law in (*ALWAYS, *(BY_NAME[name] for name in names)):
        for row in law(study):
            on_row(row)
            yield row
    study.require_exemptions()


def run_here(
    program: Program, name: str, schedule: ScheduleMaker, *, replicas: int, nudge: int | None = None
) -> Outcome:
    """Opens a backend by name and runs a program on it once here.  nudge: a pattern of `device.UlpPerturbed`."""
    pattern = None if nudge is None else Nudge(nudge, functions=True)
    return run_on(open_backend(name, replicas=replicas), program, schedule, None, pattern)
