"""The laws: what must not change a program's result.  One file each; their names are in `check/law_table.py`.

A law takes a `Study` and yields rows: it requests runs, compares them, and reports what it compared and what not.
Those of `BY_NAME` take one with a reference, and need not yield a row where there is nothing to compare.
"""

from collections.abc import Callable, Iterator
from typing import Final

from simstrategy.check.laws.as_they_are import of_scripts
from simstrategy.check.laws.backends import backends
from simstrategy.check.laws.compiled import compiled
from simstrategy.check.laws.coverage import coverage
from simstrategy.check.laws.cut import cut
from simstrategy.check.laws.faults import faults
from simstrategy.check.laws.order import order
from simstrategy.check.laws.random import random
from simstrategy.check.laws.repeat import repeat
from simstrategy.check.laws.replicas import replicas
from simstrategy.check.laws.resume import resume
from simstrategy.check.laws.state import state, state_in_process
from simstrategy.check.laws.workers import workers
from simstrategy.check.row import Row
from simstrategy.check.runs import RecordedRuns, RepeatedRuns
from simstrategy.check.study import Study

__all__ = ["ALWAYS", "BY_NAME", "OF_REPEATED", "OF_RUNS", "OF_SCRIPTS", "Law", "repeat"]

Law = Callable[[Study], Iterator[Row]]

ALWAYS: Final[tuple[Law, ...]] = (backends, workers, compiled)
"""Laws whose runs are asked for by other settings: backends, schedules, numbers of workers, compiled steps."""

BY_NAME: Final[dict[str, Law]] = {
    "replicas": replicas,
    "state": state,
    "cut": cut,
    "order": order,
    "coverage": coverage,
    "random": random,
    "resume": resume,
    "faults": faults,
}
"""The laws that are chosen by name: those of `law_table.NAMED`."""

OF_RUNS: Final[dict[str, Callable[[RecordedRuns], Iterator[Row]]]] = {"replicas": replicas, "state": state_in_process}
"""The laws that need no more than `RecordedRuns`, by name: programs for other libraries are judged by them."""

OF_SCRIPTS: Final[dict[str, Callable[[RecordedRuns], Iterator[Row]]]] = {**OF_RUNS, "replicas": of_scripts}
"""The laws of scripts that a check executes as they are."""

OF_REPEATED: Final[dict[str, Callable[[RepeatedRuns], Iterator[Row]]]] = {
    **OF_RUNS,
    "cut": cut,
    "order": order,
    "resume": resume,
}
"""The same of `RepeatedRuns`: programs for other libraries that can be run with other arguments and orders."""
