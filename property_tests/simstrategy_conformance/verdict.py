"""Compares what a subject makes of a program with the oracle and with the simulator; a failure prints a script.

The oracle computes values and the type of the error; the simulator adds the texts of errors and warnings and the trace.
"""

from typing import Any

import simstrategy as ss
from simstrategy_conformance import oracle
from simstrategy_conformance.observe import Observed, difference
from simstrategy_conformance.program import Program
from simstrategy_conformance.script import script_text
from simstrategy_conformance.subject import ShrinkableSchedule, Subject

__all__ = ["agrees", "fail"]


def fail(subject: Subject, program: Program, drawn: ShrinkableSchedule | None, message: str) -> None:
    """Fails with a message and a script that reproduces the failure."""
    __tracebackhide__ = True
    draws = [] if drawn is None else drawn.taken
    raise AssertionError(f"{message}\n\n{script_text(program, subject.name, draws)}\n")


def agrees(subject: Subject, program: Program, *, executor: Any = "auto") -> Observed:
    """Fails unless the subject's result is the oracle's, and everything observed is the simulator's."""
    __tracebackhide__ = True
    expected = oracle.run(program)
    found, drawn = subject.observe(program, executor=executor)
    differs = _unlike_oracle(expected, found, program)
    if differs is None and not subject.is_simulator:
        reference, _ = subject.simulator().observe(program)
        differs = _unlike_simulator(reference, found)
    if differs is not None:
        fail(subject, program, drawn, differs)
    return found


def _unlike_oracle(expected: oracle.Expected, found: Observed, program: Program) -> str | None:
    error = None if found.error is None else found.error[0]
    if error != expected.error:
        text = "" if found.error is None else f" ({found.error[1]})"
        return f"expected {_ending(expected.error)}, found {_ending(error)}{text}"
    if error is not None:
        return None
    return difference(expected.results if program.workers > 1 else expected.results[0], found.result)


def _ending(error: str | None) -> str:
    return "a result" if error is None else f"the error {error}"


def _unlike_simulator(reference: Observed, found: Observed) -> str | None:
    if reference.error != found.error:
        return f"the simulator ends with {reference.error}, and this with {found.error}"
    differs = difference(reference.result, found.result)
    if differs is not None:
        return differs
    if reference.warnings != found.warnings:
        return f"the simulator warns {reference.warnings}, and this {found.warnings}"
    # A digest does not locate the difference, so events are compared one by one.
    place = ss.trace.first_difference(reference.events, found.events)
    return None if place is None else f"the trace differs from the simulator's at {place}"
