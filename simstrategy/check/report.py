"""What a check found: one row per run, as data, as a table, and as an exception."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, final

from simstrategy.check.compare import MARGIN
from simstrategy.errors import Difference

__all__ = ["COLUMNS", "Report", "Row"]

COLUMNS = ("backend", "replicas", "schedule", "values", "trace")


class Row(NamedTuple):
    """One run beside its reference.

    equal_bits, distance, one_ulp: of the values and variables (see `check.compare`); problem: the first
    difference, in words, or None. events: the length of the trace.
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
    """Whether the program raised; in a row without a problem, the same as the reference."""
    not_finite: str | None = None
    """The first value that entered a collective or a `reduce` and is not finite, in words; None if all are."""

    def cells(self) -> tuple[str, ...]:
        """Returns the row's texts, in the order of COLUMNS."""
        if self.problem is not None:
            values = "FAILED" if self.reference else "DIFFERS"
        elif self.raised:
            values = "reference; raises" if self.reference else "raises the same"
        elif self.reference:
            values = f"reference; one ulp of the inputs makes {self.one_ulp:.1e}"
        elif self.equal_bits:
            values = "equal to the bit"
        else:
            values = f"agree: {self.distance:.1e} apart, bound {MARGIN:g} × {self.one_ulp:.1e}"
        trace = f"{self.events} events" + (", equal" if self.trace_compared and self.problem is None else "")
        return (self.backend, self.replicas, self.schedule, values, trace)


@final
class Report:
    """The rows of a check; prints as a table."""

    def __init__(self, program: str, rows: Sequence[Row]) -> None:
        self.program = program
        self.rows = tuple(rows)

    @property
    def agrees(self) -> bool:
        """Whether no row differs."""
        return all(row.problem is None for row in self.rows)

    def problems(self) -> Iterator[str]:
        """Yields each row's first difference, with where it was seen."""
        for row in self.rows:
            if row.problem is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.problem}"

    def not_finite(self) -> Iterator[str]:
        """Yields each row's first value that is not finite: which step and replica sent it, and its elements."""
        for row in self.rows:
            if row.not_finite is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.not_finite}"

    def remarks(self) -> Iterator[str]:
        """Yields what a reader should know of a check that agrees."""
        if self.agrees and not any(row.events or row.raised for row in self.rows):
            yield (
                "The program asked nothing of its strategies: no variable, no run, no collective. Their agreement says "
                "little. One that takes another library's strategy says so by type, such as "
                "program(strategy: tf.distribute.Strategy)."
            )

    def raise_for_difference(self) -> None:
        """Raises `Difference`, an AssertionError, with the table and every row's first difference."""
        if not self.agrees:
            raise Difference(str(self))

    def __str__(self) -> str:
        lines = [COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        verdict = "All runs agree." if self.agrees else "\n".join(["First differences:", *self.problems()])
        found = list(self.not_finite())
        values = ["First values that are not finite:", *found] if found else []
        return "\n".join([f"check of {self.program}", *table, *values, *self.remarks(), verdict])
