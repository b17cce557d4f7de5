"""`check_script`: judges a script that another library's launcher starts, such as torchrun, by laws of `check`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from simstrategy.check.given import BACKENDS, Given
from simstrategy.check.law_table import LAWS
from simstrategy.check.laws.cut import cut
from simstrategy.check.laws.order import order as law_of_order
from simstrategy.check.laws.repeat import repeated
from simstrategy.check.laws.replicas import replicas as law_of_replicas
from simstrategy.check.openings import LINEAR
from simstrategy.check.remarks import remarks_of
from simstrategy.check.report import Report
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import Settings, VariedRuns
from simstrategy.check.scripts.facts import Front
from simstrategy.check.scripts.printed import pattern_of
from simstrategy.check.scripts.study import ScriptStudy
from simstrategy.check.scripts.templates import REPLICAS, require_names
from simstrategy.check.validation import OnRow, arguments_of, exemptions_of
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder
from simstrategy.strategy import Semantics

__all__ = ["check_script"]

_LAWS: Final[dict[str, Callable[[VariedRuns], Iterator[Row]]]] = {
    "replicas": law_of_replicas,
    "cut": cut,
    "order": law_of_order,
}
"""The laws of scripts."""
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
    allow_errors: bool = False,
    on_row: OnRow = lambda row: None,
) -> Report:
    """Runs a script with all settings, compares the runs, and reports which laws it breaks.

    front: runs scripts of one launcher; `front_named` finds it. arguments: of the script; in braces stand expressions
    of `replicas` and of the names of `vary`. same_output: a pattern; the numbers in matching lines of what replica 0
    prints are compared. The other settings are those of `check`. Clauses: G-20 to G-31. Raises InvalidArgument for
    settings that a script does not have.
    """
    runs = (BACKENDS, replicas, (), (InOrder,), Semantics.TF1_15)
    given = Given(*runs, laws, without, same_on, order, exemptions_of(exempt), arguments_of(None, vary), require)
    names = _judged(given)
    require_names(arguments, [*given.vary])
    pattern = None if same_output is None else pattern_of(same_output)
    asked = {*laws, *same_on}
    settings = Settings(allow_errors=allow_errors, exempt=given.exempt, vary=given.vary, asked=asked, order=order)
    with closing(front(script)) as runner:
        study = ScriptStudy(runner, arguments, replicas, settings, pattern)
        rows = []
        for row in _rows(study, names):
            on_row(row)
            rows.append(row)
        study.require_exemptions()
        not_tried = remarks_of(rows, study.tried(), _REMARKS)
        return Report(Path(script).name, rows, not_tried, require, study.notes)


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


def _rows(study: ScriptStudy, names: Sequence[str]) -> Iterator[Row]:
    for count in study.replicas:
        yield _repeated(study, count)
    for name in names:
        rows = [*_LAWS[name](study)]
        yield from rows
        if not rows and name in study.settings.asked:
            row = law_row(name, study.reference, ", ".join(map(str, study.replicas)), study.schedule)
            yield not_judged(row, "nothing to compare", f"nothing was compared; {LAWS[name].needs}", asked=True)


def _repeated(study: ScriptStudy, count: int) -> Row:
    """Returns the row of the reference at a number of replicas: two equal runs give the same bits.  Clause: G-21."""
    return repeated(study, count)._replace(schedule=study.schedule, events=study.events[count])
