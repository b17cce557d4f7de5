"""One row of a report: a run, or two runs that a law compares; and a finding, which is a row's problem as data."""

from typing import Literal, NamedTuple

from simstrategy.check.compare import MARGIN
from simstrategy.check.law_table import facts_of
from simstrategy.check.shown import Shown, Way
from simstrategy.trace.recording import EventAt

__all__ = ["COLUMNS", "Finding", "Kind", "Row", "State", "finding_of", "shown_in", "state_of"]

COLUMNS = ("law", "backend", "replicas", "schedule", "values", "trace")

Kind = Literal["title", "columns", "reference", "run", "problem", "undecided", "remark", "verdict"]


State = Literal["reference", "agrees", "differs", "undecided", "skipped"]


class Finding(NamedTuple):
    """What breaks a law.  law, backend, replicas, schedule: of the row. text: what differs, as a sentence.

    kind, step, site, variable: what the cause is, the first step (from 1), line and variable in which it shows; None
    where that is not recognised. also: kinds that give the same numbers here. source: the line of the first value
    inside a replica function that differs. cause: a paragraph on it. See `check/causes`. shown: the runs in which it
    shows; None where no page can show them. earlier: a line before that one, at which a cause without a kind may begin.
    """

    law: str
    backend: str
    replicas: str
    schedule: str
    text: str
    kind: str | None = None
    step: int | None = None
    site: str | None = None
    variable: str | None = None
    also: tuple[str, ...] = ()
    source: str | None = None
    cause: str | None = None
    shown: Shown | None = None
    earlier: str | None = None

    def __str__(self) -> str:
        text = f"{self.backend}, replicas {self.replicas}, {self.schedule}: {self.text}"
        return text if self.cause is None else f"{text}\n  Cause: {self.cause}"


class Row(NamedTuple):
    """One run compared with its reference, or two runs that a law compares.

    equal_bits, distance: of the values and variables (see `check.compare`). one_ulp: of a reference how far one ulp of
    the inputs moved them, 0 where no run was nudged; of other rows a fifth of the distance that may be rounding.
    problem: the first difference, as a sentence, or None. events: the length of the trace. undecided: the first
    difference that could not be judged, as a sentence; None where there is none, or a problem.
    """

    backend: str
    replicas: str
    schedule: str
    reference: bool
    equal_bits: bool
    distance: float
    one_ulp: float
    events: int
    trace_compared: bool
    problem: str | None
    raised: bool = False
    """Whether the program raised.  Without a problem, the reference raised the same."""
    not_finite: str | None = None
    """The first value that is not finite, as a sentence (as of an `Outcome`); None if all are."""
    undecided: str | None = None
    law: str = "backends"
    compared: int = 1
    """How many values were compared; 0 where the law compared nothing, which is no agreement."""
    not_compared: tuple[str, ...] = ()
    """The values that have nothing to be compared with, each with the reason."""
    exempt: tuple[str, ...] = ()
    """The values that are exempt, each with its reason."""
    why: str = ""
    """Why the row was not judged, in a few words; the default is that rounding may change the result too much.

    Of a row that was judged: what was found to hold, for a law that compares more than values.
    """
    finding: Finding | None = None
    """The problem as data; None where only its text is known."""

    def cells(self) -> tuple[str, ...]:
        """Returns the row's texts, in the order of COLUMNS."""
        if self.problem is not None:
            values = "FAILED" if self.reference else "DIFFERS"
        elif self.undecided is not None:
            values = f"NOT JUDGED: {self.why or 'rounding may change the result too much'}"
        elif self.raised:
            values = "reference; raises" if self.reference else "raises the same"
        elif self.reference:
            values = f"reference; rounding moves it by {self.one_ulp:.1e}" if self.one_ulp else "reference"
        elif self.why:
            values = self.why if self.compared else f"not judged: {self.why}"
        elif self.equal_bits:
            values = "equal to the bit"
        else:
            values = f"agree: {self.distance:.1e} apart (allowed: {MARGIN * self.one_ulp:.1e})"
        return (self.law, self.backend, self.replicas, self.schedule, values, self._trace())

    def _trace(self) -> str:
        if not facts_of(self.law).equal_traces:
            return ""
        trace = "1 event" if self.events == 1 else f"{self.events} events"
        return trace + (", equal" if self.trace_compared and self.problem is None else "")


def finding_of(row: Row) -> Finding | None:
    """Returns a row's problem as data; None for a row without one."""
    if row.problem is None:
        return None
    plain = Finding(row.law, row.backend, row.replicas, row.schedule, row.problem)
    return plain if row.finding is None else row.finding


def shown_in(row: Row, ways: tuple[Way, ...], place: int | None = None, at: EventAt | None = None) -> Row:
    """Returns a row whose problem, where it has one, shows in these runs, at this place or event of the last."""
    finding = finding_of(row)
    return row if finding is None else row._replace(finding=finding._replace(shown=Shown(ways, place, at)))


def state_of(row: Row) -> State:
    """Returns what came of a row."""
    if row.problem is not None:
        return "differs"
    if row.undecided is not None:
        return "undecided"
    if row.reference:
        return "reference"
    return "agrees" if row.compared else "skipped"
