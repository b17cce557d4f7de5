"""`assert_lawful`: a check as an assertion, with a text that a person understands without the check's settings."""

from collections.abc import Iterator, Sequence
from typing import Any

from simstrategy.check import REPLICAS, Report, check
from simstrategy.check.outcome import Program
from simstrategy.errors import Difference, NotJudged
from simstrategy.testing.repeating import check_command

__all__ = ["assert_lawful"]


def assert_lawful(program: Program, *, replicas: Sequence[int] = REPLICAS, **settings: Any) -> Report:
    """Checks `program(strategy)` and raises unless it keeps every law that was checked.

    program: returns a nest of arrays. replicas: the numbers of them that are compared, the first one being the
    reference. settings: those of `ss.check`, by name. Returns the report of a program that is lawful. Raises Difference
    where one breaks a law, and NotJudged where nothing could be judged, both AssertionErrors: their text is what is
    wrong, the report with the causes that are recognised, and the command that repeats the check where there is one.
    Raises what `ss.check` raises for settings that cannot be run.

    >>> def program(strategy):
    ...     return strategy.reduce("MEAN", strategy.run(lambda: strategy.xp.ones(())), axis=None)
    >>> assert_lawful(program, replicas=[1, 2]).verdict
    'agree'
    """
    __tracebackhide__ = True  # pytest shows where the test called, and not this
    report = check(program, replicas=replicas, **settings)
    if report.agrees:
        return report
    kind = Difference if report.verdict == "differ" else NotJudged
    raise kind("\n".join(_lines(report, check_command(program, {"replicas": replicas, **settings}))))


def _lines(report: Report, command: str | None) -> Iterator[str]:
    yield _headline(report)
    yield ""
    yield str(report)
    if command is not None:
        yield ""
        yield f"Repeat this check with: {command}"


def _headline(report: Report) -> str:
    """Returns one line: it is what lists of failed tests show."""
    first = next(iter(report.findings), None)
    if first is None:
        reason = next(report.undecided(), None) or "see what was not tried or compared, below"
        return f"{report.program} could not be judged: {reason.splitlines()[0]}"
    (text, *_) = first.text.splitlines() or [""]
    law = {"repeat": "does not run as it must", "backends": "differs between backends"}.get(first.law)
    what = law or f"breaks the law of {first.law}"
    return f"{report.program} {what} ({first.backend}, replicas {first.replicas}): {text}"
