"""Judges the runs of a program by laws, and makes the report.  It runs nothing but what the laws request."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain
from typing import Final, TypeVar

from simstrategy.check.kept_state import what_is_changed
from simstrategy.check.law_table import LAWS
from simstrategy.check.laws import repeat
from simstrategy.check.outcome import program_folder, program_name
from simstrategy.check.remarks import REMARKS, remarks_of
from simstrategy.check.report import Report
from simstrategy.check.row import Row, state_of
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.runs import RecordedRuns, require_known, tried_in
from simstrategy.check.shown import Way, of_replicas
from simstrategy.check.untyped import other_type
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.trace import Recording

__all__ = ["judge", "judge_runs"]

R = TypeVar("R", bound=RecordedRuns)
OnRow = Callable[[Row], None]

_UNUSED: Final = (
    "The program used nothing of its strategies: no variable, no run, no collective.",
    (
        "For a program of another library's strategy, annotate the parameter with its type, such as "
        "program(strategy: tf.distribute.Strategy)."
    ),
)
"""What is stated of a program of this library whose runs have no events, and what to do."""
_UNUSED_THERE: Final = ("The program used nothing of what it was given: its runs have no events.", "")
"""The same of a program of another library, whose parameter has its type already."""


def judge_runs(
    runs: R,
    named: Mapping[str, Callable[[R], Iterator[Row]]],
    names: Sequence[str],
    require: Sequence[str],
    on_row: OnRow,
    words: Sequence[str] = tuple(REMARKS),
    *,
    workers: Callable[[R], Iterator[Row]] | None = None,
    record: Callable[[Way], Recording] | None = None,
) -> Report:
    """Judges the runs of a program for another library by laws, and closes them.

    Each number of replicas that ran twice has a row of its own. workers: the law of the numbers of processes in the
    settings; None for a library whose programs are not run in several. named: the laws of such programs,
    `laws.OF_RUNS` or `laws.OF_REPEATED`. names: those that were chosen; of the others, one that was asked for is an
    error. words: of what such programs can try. record: of the report; None for the recordings of `runs`. Raises
    InvalidArgument for a law, an argument or a word that they do not have.
    """
    with closing(runs):
        wrong = [name for name in names if name not in named and name in runs.settings.asked]
        if runs.settings.vary and "cut" not in named:
            wrong.append("cut")
        if wrong:
            raise InvalidArgument(
                f"Programs under {runs.reference} are not judged by the law of {wrong[0]}: leave it out. Their laws "
                f"are {', '.join(named)}."
            )
        if runs.settings.workers and workers is None:
            raise InvalidArgument(f"A program under {runs.reference} has no workers to choose: leave workers out.")
        always = (repeat,) if workers is None or not runs.settings.workers else (repeat, workers)
        for word in require:
            if word not in words:
                raise InvalidArgument(
                    f"Programs under {runs.reference} cannot try {word!r}: require can name {', '.join(words)}."
                )
        chosen = [name for name in names if name in named]
        recorded = record or partial(_recorded, runs)
        given = (runs, always, named, chosen, require, on_row)
        return judge(*given, words=words, record=recorded, unused=_UNUSED_THERE)


def _recorded(runs: RecordedRuns, way: Way) -> Recording:
    """Returns the recording of a way.  Raises Unsupported for other runs than those of the law of replicas."""
    if way != of_replicas(way.replicas):
        raise Unsupported(f"Runs under {runs.reference} are recorded in their usual order, with their first arguments.")
    return runs.recorded(way.replicas)


def judge(
    runs: R,
    always: Sequence[Callable[[R], Iterator[Row]]],
    named: Mapping[str, Callable[[R], Iterator[Row]]],
    names: Sequence[str],
    require: Sequence[str],
    on_row: OnRow,
    *,
    record: Callable[[Way], Recording],
    words: Sequence[str] = tuple(REMARKS),
    unused: tuple[str, str] = _UNUSED,
) -> Report:
    """Judges runs by laws, and closes them.

    always: laws that are judged in any case. named: the others, by name; names: those that are judged. require: words
    of what must have been tried. on_row: receives each row when it is ready. record, unused: of the report. words: of
    what can be tried.
    """
    with closing(runs):
        rows = []
        for row in chain(*(law(runs) for law in always), *(_named_rows(runs, named[name], name) for name in names)):
            rows.append(_if_used(runs, row) if unused is _UNUSED else row)
            on_row(rows[-1])
        if runs.has_reference and any(row.why == "not repeatable" for row in rows):
            changed = what_is_changed(runs.program, partial(runs.reseeded, runs.replicas[0]))
            if changed is not None:
                runs.notes.append(changed)
        require_known(runs.settings.exempt, runs.made().values())
        remarks = remarks_of(rows, tried_in(runs), words)
        folder = program_folder(runs.program) or None
        return Report(program_name(runs.program), rows, remarks, require, runs.notes, record, folder, unused)


def _if_used(runs: RecordedRuns, row: Row) -> Row:
    """Returns a row; not judged where it agrees about a program of another library that uses nothing of its strategy.

    Clause: J-122.
    """
    if row.reference or row.undecided is not None or any(found.first.events for found in runs.made().values()):
        return row
    other = other_type(runs.program) if state_of(row) == "agrees" else None
    if other is None:
        return row
    text = "the program used nothing of its strategies, and its file imports a library that has others: for {1}, give "
    text += "the parameter its type, {0}: {1}"
    return row._replace(undecided=text.format(*other), why="its strategies were not used")


def _named_rows(runs: R, law: Callable[[R], Iterator[Row]], name: str) -> Iterator[Row]:
    """Yields the rows of a law; one that compares nothing where it has none and was asked for."""
    found, can_run = False, runs.has_reference or not LAWS[name].in_process
    for row in law(runs) if can_run else ():
        found = True
        yield row
    asked = runs.settings.asked
    if not found and (name in asked or "all" in asked):
        label = ", ".join(map(str, runs.replicas))
        row = law_row(name, runs.reference, label)._replace(schedule="no run")
        needs = LAWS[name].needs if can_run else _NEEDS_REFERENCE
        yield not_judged(row, "nothing to compare", f"nothing was compared; {needs}", asked=name in asked)


_NEEDS_REFERENCE: Final = "add a backend whose replicas are in one process, such as sim"
