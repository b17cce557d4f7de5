"""Whether a subject runs a program rightly: beside the oracle, and beside the simulator.  Says so with a script.

The oracle tells values and the kind of error; the simulator adds the words of errors and warnings, and the trace.
"""

from typing import Any

import simstrategy as ss
from simstrategy_conformance import oracle
from simstrategy_conformance.observe import Observed, difference
from simstrategy_conformance.program import Program
from simstrategy_conformance.script import script_text
from simstrategy_conformance.subject import ShrinkableSchedule, Subject

__all__ = ["agrees", "fail"]


def fail(subject: Subject, program: Program, drawn: ShrinkableSchedule | None, told: str) -> None:
    """Fails with what differs, and a script that shows it."""
    draws = [] if drawn is None else drawn.taken
    raise AssertionError(f"{told}\n\n{script_text(program, subject.name, draws)}\n")


def agrees(subject: Subject, program: Program, *, executor: Any = "auto") -> Observed:
    """Fails unless the subject comes to what the oracle computes, and else to what the simulator does."""
    expected = oracle.run(program)
    found, drawn = subject.observe(program, executor=executor)
    told = _told(expected, found, program)
    if told is None and subject.name != "sim":
        reference, _ = subject.simulator().observe(program)
        told = _unlike(reference, found)
    if told is not None:
        fail(subject, program, drawn, told)
    return found


def _told(expected: oracle.Expected, found: Observed, program: Program) -> str | None:
    error = None if found.error is None else found.error[0]
    if error != expected.error:
        text = "" if found.error is None else f" ({found.error[1]})"
        return f"expected {_ending(expected.error)}, found {_ending(error)}{text}"
    if error is not None:
        return None
    return difference(expected.results if program.workers > 1 else expected.results[0], found.result)


def _ending(error: str | None) -> str:
    return "a result" if error is None else f"the error {error}"


def _unlike(reference: Observed, found: Observed) -> str | None:
    if reference.error != found.error:
        return f"the simulator ends with {reference.error}, and this with {found.error}"
    told = difference(reference.result, found.result)
    if told is not None:
        return told
    if reference.warnings != found.warnings:
        return f"the simulator warns {reference.warnings}, and this {found.warnings}"
    # A digest is not enough to say where, so events are compared one by one.
    place = ss.trace.first_difference(reference.events, found.events)
    return None if place is None else f"the trace differs from the simulator's at {place}"
