"""One program that runs all the others in turn, each with a strategy of its own on the same backend.

So one set of processes serves them all. What each came to is returned as arrays and texts, to be compared
worker by worker. It judges nothing.
"""

from contextlib import closing
from typing import Any

from agreeing import AGREEING
from disagreeing import DISAGREEING
from gradients import GRADIENTS
from program_catalogue import Program
from raising import RAISING

import simstrategy as ss
from simstrategy.check.outcome import program_folder, run_program
from simstrategy.strategy import group_of
from simstrategy.trace import Trace

__all__ = ["EVERY", "every_program", "outcome_of"]

EVERY: dict[str, Program] = {
    **{name: case.program for name, case in (AGREEING | GRADIENTS).items()},
    **{name: case.program for name, case in DISAGREEING.items()},
    **{name: case.program for name, case in RAISING.items()},
}
assert len(EVERY) == len(AGREEING) + len(GRADIENTS) + len(DISAGREEING) + len(RAISING), "two programs have one name"


def every_program(strategy: ss.Strategy) -> dict[str, Any]:
    """Returns what each program comes to on this worker."""
    return {name: outcome_of(program, strategy) for name, program in EVERY.items()}


def outcome_of(program: Program, strategy: ss.Strategy) -> dict[str, Any]:
    """Returns leaves by path, error, notes and trace of one program, and leaves the cluster in step for the next."""
    notes: list[str] = []

    def noting(one: ss.Strategy) -> Any:
        try:
            return program(one)
        except Exception as error:
            notes.extend(vars(error).get("__notes__", ()))
            raise

    trace = Trace(root=program_folder(program))
    with closing(ss.Strategy.multi_worker(group_of(strategy).backend, trace=trace)) as one:
        outcome = run_program(noting, one, trace)
        # As the end of a process does: a worker that still waits for this one hears that it is gone.
        group_of(one).coordinator.disconnect()
    return {
        "leaves": dict(outcome.leaves),
        "error": outcome.error,
        "notes": notes,
        "events": [event.line() for event in outcome.events],
    }
