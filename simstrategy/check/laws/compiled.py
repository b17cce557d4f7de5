"""The law of compiled steps: every step, run as one program for all replicas, gives what its tasks give.

It runs the program on the reference backend with each replica function compiled, also where the program compiles none.
A function that does not compile, or whose program raises, runs as tasks, and the program begins anew, also where it has
caught the error: the function may have had effects while traced, and a step that raises has written nothing.
"""

from collections.abc import Collection, Iterator
from functools import partial
from typing import Final

from simstrategy.check.across import counted
from simstrategy.check.laws.like_first import like_first
from simstrategy.check.outcome import Outcome
from simstrategy.check.row import Row
from simstrategy.check.rows import law_row, not_judged
from simstrategy.check.study import Study
from simstrategy.errors import CannotCompile
from simstrategy.short_repr import without_addresses
from simstrategy.strategy import Strategy, runner_of
from simstrategy.strategy.every_step import EveryStep, compile_every_step
from simstrategy.strategy.group import Group

__all__ = ["compiled"]

_LABEL: Final = "compiled"
_REFUSED_MAX: Final = 64
"""So many functions may be left out, before the law is not judged."""
_ADVICE: Final = (
    "while a step is traced, its Python code runs once for all replicas, and not in each run: what it reads from "
    "outside, such as a counter, is a constant of the program, and what it writes there is written once. Pass what "
    "changes as an argument, and return what is to be kept"
)


def compiled(study: Study) -> Iterator[Row]:
    """Yields a row for each number of replicas, where compiled steps are asked for."""
    for count in study.replicas if study.settings.compiled and study.has_reference else ():
        yield _row(study, count)


def _row(study: Study, count: int) -> Row:
    row = law_row("compiled", study.reference, str(count))._replace(schedule=_LABEL)
    left_out: dict[str, str] = {}
    while True:
        found: list[EveryStep | None] = []
        compile_all = partial(_compile_all, left_out, found)
        other = study.run(study.reference, count, watch=compile_all, compiles=True)
        every = found[0]
        if every is None:
            return not_judged(row, "nothing compiles", f"{study.reference} compiles no steps: add sim", asked=True)
        refused = every.refused
        if not refused and _was_refused(other) and other.error is not None and every.last is not None:
            refused = {every.last: other.error[1]}
        if not refused or len(left_out) >= _REFUSED_MAX:
            break
        left_out |= {name: without_addresses(why) for name, why in refused.items()}
    in_part = [f"{name} does not compile: {why}" for name, why in left_out.items()]
    if every.runs_as_tasks:
        runs = "1 run has" if every.runs_as_tasks == 1 else f"{every.runs_as_tasks} runs have"
        in_part.append(f"{runs} arguments of other shapes or values on some replicas.")
    if refused or _was_refused(other) or not every.programs:
        why = in_part[0] if in_part else "the program runs no step"
        return not_judged(row, "no step was compiled", why.rstrip("."), asked=True)
    study.notes += [f"{counted(count)}: not every step was compiled, some ran as tasks: {one}" for one in in_part]
    row = like_first(study, count, other, row, ("as tasks", "compiled"))
    row = row._replace(schedule=f"{_LABEL} in part") if in_part else row
    return row if row.problem is None else row._replace(problem=f"{row.problem}\n  {_ADVICE}")


def _compile_all(left_out: Collection[str], found: list[EveryStep | None], group: Group) -> None:
    """Compiles every function that a group's strategy runs, and adds what does so to `found`."""
    assert isinstance(group.owner, Strategy)
    found.append(compile_every_step(runner_of(group.owner), left_out))


def _was_refused(outcome: Outcome) -> bool:
    return outcome.error is not None and outcome.error[0] == CannotCompile.__name__
