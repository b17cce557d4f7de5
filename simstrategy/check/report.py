"""The result of a check: one row per run, as data, as text, and as an exception."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, NamedTuple, final

from simstrategy.check.compare import BOUND_MAX, MARGIN
from simstrategy.errors import Difference, NotJudged

__all__ = ["COLUMNS", "Line", "Report", "Row", "Verdict"]

COLUMNS = ("backend", "replicas", "schedule", "values", "trace")


Kind = Literal["title", "columns", "reference", "run", "problem", "undecided", "remark", "verdict"]

Verdict = Literal["agree", "differ", "undecided"]


class Line(NamedTuple):
    """One line of a report.  kind: its content, by which the command line chooses a colour."""

    kind: Kind
    text: str


class Row(NamedTuple):
    """One run, compared with its reference.

    equal_bits, distance, one_ulp: of the values and variables (see `check.compare`). problem: the first difference, as
    a sentence, or None. events: the length of the trace. undecided: the first difference that rounding may explain,
    together with any fault, as a sentence; None where there is none, or a problem.
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
    """The first value that entered a collective or a `reduce` and is not finite, as a sentence; None if all are."""
    undecided: str | None = None

    def cells(self) -> tuple[str, ...]:
        """Returns the row's texts, in the order of COLUMNS."""
        if self.problem is not None:
            values = "FAILED" if self.reference else "DIFFERS"
        elif self.undecided is not None:
            values = "NOT JUDGED: one step of each input changes the result too much"
        elif self.raised:
            values = "reference; raises" if self.reference else "raises the same"
        elif self.reference:
            values = f"reference; one step of each input changes the result by {self.one_ulp:.1e}"
        elif self.equal_bits:
            values = "equal to the bit"
        else:
            values = f"agree: {self.distance:.1e} apart, bound {MARGIN:g} × {self.one_ulp:.1e}"
        trace = "1 event" if self.events == 1 else f"{self.events} events"
        trace += ", equal" if self.trace_compared and self.problem is None else ""
        return (self.backend, self.replicas, self.schedule, values, trace)


_VERDICTS: Final[dict[Verdict, str]] = {
    "agree": "All runs agree.",
    "differ": "Not all runs agree.",
    "undecided": "Not all runs could be judged.",
}
_ADVICE: Final = (
    f"Rounding alone may change these results by {MARGIN:g} times what is stated, which is more than {BOUND_MAX:g}: a "
    f"fault looks no different. Check a program that amplifies less: fewer steps, a smaller learning rate, a wider "
    f"dtype, or results from before they are amplified."
)


@final
class Report:
    """The rows of a check; str() is its text."""

    def __init__(self, program: str, rows: Sequence[Row]) -> None:
        self.program = program
        self.rows = tuple(rows)

    @property
    def verdict(self) -> Verdict:
        """What came of it: "differ" if a row has a problem, "undecided" if one could not be judged, else "agree"."""
        if any(row.problem is not None for row in self.rows):
            return "differ"
        return "undecided" if any(row.undecided is not None for row in self.rows) else "agree"

    @property
    def agrees(self) -> bool:
        """Whether no row differs, and all could be judged."""
        return self.verdict == "agree"

    def problems(self) -> Iterator[str]:
        """Yields each row's first difference, with its backend, replicas and schedule."""
        for row in self.rows:
            if row.problem is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.problem}"

    def undecided(self) -> Iterator[str]:
        """Yields each row's first difference that could not be judged, with its backend, replicas and schedule."""
        for row in self.rows:
            if row.undecided is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.undecided}"

    def not_finite(self) -> Iterator[str]:
        """Yields each row's first value that is not finite: the step and replica that sent it, and its elements."""
        for row in self.rows:
            if row.not_finite is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.not_finite}"

    def remarks(self) -> Iterator[str]:
        """Yields what limits the meaning of a check that agrees."""
        if self.agrees and not any(row.events or row.raised for row in self.rows):
            yield (
                "The program used nothing of its strategies: no variable, no run, no collective. Their agreement means "
                "little. For a program of another library's strategy, annotate the parameter with its type, such as "
                "program(strategy: tf.distribute.Strategy)."
            )

    def raise_for_difference(self) -> None:
        """Raises an AssertionError with the whole text unless all runs agree.

        It is `Difference` where a row differs, else `NotJudged`: a test that passes has compared something.
        """
        if self.verdict == "differ":
            raise Difference(str(self))
        if self.verdict == "undecided":
            raise NotJudged(str(self))

    def lines(self) -> Iterator[Line]:
        """Yields the text of the report, line by line: table, values that are not finite, remarks, differences."""
        yield Line("title", f"check of {self.program}")
        cells = [COLUMNS, *(row.cells() for row in self.rows)]
        widths = [max(len(one[i]) for one in cells) for i in range(len(COLUMNS))]
        kinds: list[Kind] = ["columns", *(_kind_of(row) for row in self.rows)]
        for kind, texts in zip(kinds, cells, strict=True):
            padded = [text.ljust(width) for text, width in zip(texts, widths, strict=True)]
            yield Line(kind, "  ".join(padded).rstrip())
        if any(row.not_finite is not None for row in self.rows):
            yield Line("remark", "First values that are not finite:")
        yield from (Line("remark", text) for text in (*self.not_finite(), *self.remarks()))
        if any(row.undecided is not None for row in self.rows):
            yield Line("undecided", "Could not be judged:")
            yield from (Line("undecided", text) for text in self.undecided())
            yield Line("undecided", _ADVICE)
        if self.verdict == "differ":
            yield Line("problem", "First differences:")
            yield from (Line("problem", text) for text in self.problems())
        yield Line("verdict", _VERDICTS[self.verdict])

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines())


def _kind_of(row: Row) -> Kind:
    if row.problem is not None:
        return "problem"
    if row.undecided is not None:
        return "undecided"
    return "reference" if row.reference else "run"
