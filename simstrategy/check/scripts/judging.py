"""`check_script`: judges a script that another library's launcher starts, such as torchrun, by laws of `check`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final

from simstrategy.check.across import counted
from simstrategy.check.given import BACKENDS, Given
from simstrategy.check.law_table import LAWS
from simstrategy.check.laws.cut import cut
from simstrategy.check.laws.explained import explained
from simstrategy.check.laws.order import order as law_of_order
from simstrategy.check.laws.repeat import repeated
from simstrategy.check.laws.replicas import replicas as law_of_replicas
from simstrategy.check.openings import LINEAR
from simstrategy.check.remarks import remarks_of
from simstrategy.check.report import Report
from simstrategy.check.row import Row, shown_in
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import Settings, nudged_in, require_known
from simstrategy.check.scripts.facts import REFUSED, Front
from simstrategy.check.scripts.faults import faults_of_script, require_kinds
from simstrategy.check.scripts.printed import pattern_of
from simstrategy.check.scripts.remarks import remarks_on
from simstrategy.check.scripts.study import ScriptStudy
from simstrategy.check.shown import Way, of_replicas
from simstrategy.check.templates import REPLICAS, require_names
from simstrategy.check.validation import OnRow, arguments_of, exemptions_of
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder
from simstrategy.strategy import Semantics
from simstrategy.trace import Recording
from simstrategy.trace.recording import EventAt

__all__ = ["check_script"]

_NOTHING_DONE: Final = (
    "with {} it makes no collective call and no step, and with the other number it does, so there is nothing to "
    "compare. Does it need more replicas? Leave that number out of --replicas"
)


def _of_replicas(study: ScriptStudy) -> Iterator[Row]:
    """Yields the rows of the law of replicas; runs that have other data, or nothing, are not judged.  Clause: G-39."""
    first, *others = study.replicas
    for count, row in zip(others, law_of_replicas(study), strict=True):
        idle = [one for one in (first, count) if not study.first_runs[one].events]
        if row.problem is not None and len(idle) == 1:
            text = _NOTHING_DONE.format(counted(idle[0]))
            yield row._replace(problem=None, finding=None, undecided=text, why="nothing to compare")
            continue
        study.remark((first, count), row)
        why = study.why_not_judged((first, count), row)
        if why is None:
            yield row
        else:
            yield row._replace(problem=None, finding=None, undecided=why[1], why=why[0])


_OF_RUNS: Final[dict[str, Callable[[ScriptStudy], Iterator[Row]]]] = {
    "replicas": _of_replicas,
    "cut": cut,
    "order": law_of_order,
}
"""The laws of scripts that compare whole runs."""
_LAWS: Final = (*_OF_RUNS, "faults")
"""The laws of scripts."""
_HELD: Final = {"state": "equal on all ranks", "coverage": "all samples drawn"}
"""What a law of one run has found to hold, in the column of its row."""
_REMARKS: Final = ("replicas", "nudged")
"""What a check of a script may not have tried."""


def check_script(
    front: Front,
    script: str,
    *,
    arguments: Sequence[str] = (),
    replicas: Sequence[int],
    laws: Sequence[str] = (),
    without: Sequence[str] = (),
    same_on: Sequence[str] = (),
    order: str = LINEAR,
    exempt: Mapping[str, str] | None = None,
    vary: Mapping[str, Sequence[Any]] | None = None,
    require: Sequence[str] = (),
    same_output: str | None = None,
    faults: Sequence[str] = (),
    seed: int = 0,
    allow_errors: bool = False,
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs a script with all settings, compares the runs, and reports which laws it breaks.

    front: runs scripts of one launcher; `front_named` finds it. arguments: of the script; in braces stand expressions
    of `replicas` and of the names of `vary`. same_output: a pattern; the numbers in matching lines of what replica 0
    prints are compared. faults: words of `faults.KINDS`, or "all", for the law of faults, which is judged then; seed:
    by which its points are chosen. The other settings are those of `check`. Clauses: G-20 to G-39, G-72 to G-79. Raises
    InvalidArgument for settings that a script does not have.
    """
    kinds = require_kinds(faults)
    laws = [*laws, "faults"] if faults and "faults" not in (*laws, *same_on) else laws
    with closing(front(script)) as runner:
        of_runs, of_one_run = _apart(runner.laws, laws, without, same_on)
        runs = (BACKENDS, replicas, (), (InOrder,), Semantics.TF1_15, False)
        given = Given(*runs, *of_runs, same_on, order, exemptions_of(exempt), arguments_of(None, vary), require)
        names = _judged(given)
        require_names(arguments, [*given.vary])
        pattern = None if same_output is None else pattern_of(same_output)
        asked = {*laws, *same_on}
        settings = Settings(allow_errors=allow_errors, exempt=given.exempt, vary=given.vary, asked=asked, order=order)
        study = ScriptStudy(runner, arguments, replicas, settings, pattern, of_one_run)
        of_faults = partial(faults_of_script, kinds=kinds, seed=seed)
        judge: dict[str, Callable[[ScriptStudy], Iterator[Row]]] = {**_OF_RUNS, "faults": of_faults}
        rows = []
        for row in _rows(study, {name: judge[name] for name in names}):
            on_row(row)
            rows.append(row)
        require_known(settings.exempt, study.made().values())
        not_tried = remarks_of(rows, nudged_in(study.made().values()), _REMARKS if {*names} - {"faults"} else ())
        study.notes += remarks_on(study.first_runs)
        again, file = partial(_recorded_again, front, script, study), Path(script)
        return Report(file.name, rows, not_tried, require, study.notes, again, str(file.absolute().parent))


def _recorded_again(front: Front, script: str, study: ScriptStudy, way: Way) -> Recording:
    """Runs a script once more and returns the recording.  What the study has used to run it is closed by then."""
    with closing(front(script)) as runner:
        return study.recorded_by(runner, way)


def _apart(
    own: Sequence[str], laws: Sequence[str], without: Sequence[str], same_on: Sequence[str]
) -> tuple[tuple[list[str], list[str]], list[str]]:
    """Returns what names laws that compare runs, to add and to leave out, and the laws of one run that are judged.

    own: the laws of one run.
    """
    of_runs = [[name for name in names if name not in own] for names in (laws, without)]
    left_out = {*own} if "all" in without or same_on else {*without}
    return (of_runs[0], of_runs[1]), [name for name in own if name not in left_out]


def _judged(given: Given) -> list[str]:
    """Returns the names of the laws.  Raises InvalidArgument for settings that a script does not have."""
    names = given.judged()
    if REPLICAS in given.vary:
        raise InvalidArgument(f"{REPLICAS!r} stands for the number of replicas: give {REPLICAS} the values.")
    for name in (*given.laws, *given.same_on, *given.without):
        if name in LAWS and name not in _LAWS:
            raise InvalidArgument(f"Scripts are not judged by the law of {name}: choose from {', '.join(_LAWS)}.")
    for word in given.require:
        if word not in _REMARKS:
            raise InvalidArgument(
                f"It is not known of a script whether it tried {word!r}: require can name {', '.join(_REMARKS)}."
            )
    return [name for name in names if name in _LAWS]


def _rows(study: ScriptStudy, judge: Mapping[str, Callable[[ScriptStudy], Iterator[Row]]]) -> Iterator[Row]:
    """Yields the rows of the laws, after those of equal runs, which the law of faults does not compare with."""
    for count in study.replicas if judge.keys() != {"faults"} else ():
        yield _repeated(study, count)
        yield from _of_one_run(study, count)
    for name, law in judge.items():
        rows = [*law(study)]
        yield from rows
        if not rows and name in study.settings.asked:
            row = law_row(name, study.reference, ", ".join(map(str, study.replicas)), study.schedule)
            yield not_judged(row, "nothing to compare", f"nothing was compared; {LAWS[name].needs}", asked=True)


def _of_one_run(study: ScriptStudy, count: int) -> Iterator[Row]:
    """Yields the rows of laws that look at one run; a law that had nothing to look at has none.  Clause: G-32."""
    for found in study.first_runs[count].judged:
        if found.problem is None and not found.compared:
            continue
        row = law_row(found.law, study.reference, str(count), study.schedule)
        why = _HELD.get(found.law, "kept")
        row = row._replace(compared=found.compared, problem=found.problem, why="" if found.problem else why)
        way = (of_replicas(count),)
        if found.law == "state":
            yield explained(row, lambda: study.explain_state(count), way)
        else:
            yield shown_in(row, way, at=EventAt(found.site) if found.site else None)


def _repeated(study: ScriptStudy, count: int) -> Row:
    """Returns the row of the reference at a number of replicas: two equal runs give the same bits.  Clause: G-21."""
    row = repeated(study, count)
    run = study.first_runs[count]
    row = row._replace(schedule=study.schedule, events=run.events)
    if run.error is not None and run.error[0] == REFUSED and row.problem is not None:
        return row._replace(problem=None, finding=None, undecided=row.problem, why="not simulated")
    finding = None if row.finding is None else row.finding._replace(schedule=study.schedule)
    return row._replace(finding=finding)
