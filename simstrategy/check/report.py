"""The result of a check: one row per comparison, as data, as text, and as an exception."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, final

from simstrategy.check.compare import BOUND_MAX, MARGIN
from simstrategy.check.once import each_name_once, problems_once, undecided_once
from simstrategy.check.remarks import REMARKS, Remark, what_was_compared
from simstrategy.check.row import COLUMNS, Finding, Kind, Row, State, finding_of, state_of
from simstrategy.check.shown import Shown, Way
from simstrategy.errors import Difference, NotJudged
from simstrategy.notebook import Marked, card, in_cells
from simstrategy.trace import Recording

__all__ = ["COLUMNS", "HEADINGS", "Finding", "Line", "Report", "Row", "Verdict"]

Verdict = Literal["agree", "differ", "undecided"]


_IN_TITLE: Final = ("backend", "schedule")
"""Columns that a narrow table does without, where all their rows are equal."""

_NOT_FINITE: Final = "First values that are not finite:"
_COULD_NOT: Final = "Could not be judged:"
_DIFFERENCES: Final = "First differences:"
HEADINGS: Final = frozenset({_NOT_FINITE, _COULD_NOT, _DIFFERENCES})
"""The lines that name what follows them."""


class Line(NamedTuple):
    """One line of a report.  kind: its content, by which the command line chooses a colour."""

    kind: Kind
    text: str


_VERDICTS: Final[dict[Verdict, str]] = {
    "agree": "All runs agree: ",
    "differ": "Not all runs agree.",
    "undecided": "Not all runs could be judged.",
}
_KINDS: Final[dict[State, Kind]] = {
    "reference": "reference",
    "agrees": "run",
    "differs": "problem",
    "undecided": "undecided",
    "skipped": "remark",
}
"""The kind of a row's line, by what came of the row."""
_ADVICE: Final = (
    f"Rounding alone may change these results by {MARGIN:g} times what is stated, which is more than {BOUND_MAX:g}: a "
    f"fault looks no different. Check a program that amplifies less: fewer steps, a smaller learning rate, a wider "
    f"dtype, or results from before they are amplified. Or exempt, by name, what rounding "
    f"alone decides: the others are judged then."
)

_LITTLE: Final = "Their agreement means little."


_NOTHING: Final = (
    "Nothing was compared with anything: give several numbers of replicas, other backends, or other schedules."
)


@final
class Report:
    """The rows of a check; str() is its text.

    not_tried: what limits a verdict (`check.remarks`). required: words of it without which nothing is judged. notes:
    sentences of laws that are worth knowing and break none. record: makes a run again and returns its recording; None
    where no run can be recorded. folder: of the program's files. unused: what is stated of a program whose runs have
    no events, and what to do then, each as a sentence or ""; None where its rows or notes state it.
    """

    def __init__(
        self,
        program: str,
        rows: Sequence[Row],
        not_tried: Sequence[Remark] = (),
        required: Sequence[str] = (),
        notes: Sequence[str] = (),
        record: Callable[[Way], Recording] | None = None,
        folder: str | None = None,
        unused: tuple[str, str] | None = None,
    ) -> None:
        self.program = program
        self.rows = tuple(rows)
        self.not_tried = tuple(not_tried)
        self.required = tuple(required)
        self.notes = tuple(notes)
        self.record = record
        self.folder = folder
        self.unused = unused

    @property
    def verdict(self) -> Verdict:
        """What came of it: "differ" if a row has a problem, "undecided" if something could not be judged, or "agree".

        Nothing is judged where nothing was compared, and where something required was not tried.
        """
        if any(row.problem is not None for row in self.rows):
            return "differ"
        undecided = any(row.undecided is not None for row in self.rows) or self._missing() or not self._compared()
        return "undecided" if undecided else "agree"

    @property
    def agrees(self) -> bool:
        """Whether no row differs, and all could be judged."""
        return self.verdict == "agree"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What breaks a law, one for each row with a problem."""
        return tuple(found for row in self.rows if (found := finding_of(row)) is not None)

    @property
    def shown(self) -> tuple[Shown | None, ...]:
        """For each of `findings` the runs in which it shows; None where there are none to show."""
        return tuple(one.shown if self.record else None for one in self.findings)

    def _compared(self) -> bool:
        return any(row.compared and not row.reference for row in self.rows)

    def _missing(self) -> list[Remark]:
        return [remark for remark in self.not_tried if remark.word in self.required]

    def problems(self) -> Iterator[str]:
        """Yields each row's first difference, with its backend, replicas and schedule.

        What an earlier one states, such as the lines of a traceback or the same error, is not shown again.
        """
        yield from problems_once(self.findings)

    def undecided(self) -> Iterator[str]:
        """Yields the first difference that could not be judged, with backend, replicas and schedule of its rows."""
        yield from undecided_once(self.rows)

    def not_finite(self) -> Iterator[str]:
        """Yields each row's first value that is not finite: the step and replica that sent it, and its elements."""
        for row in self.rows:
            if row.not_finite is not None:
                yield f"{row.backend}, replicas {row.replicas}, {row.schedule}: {row.not_finite}"

    def remarks(self) -> Iterator[str]:
        """Yields what limits the meaning of a check: values that were left out, and a program that used nothing."""
        for what, texts in (
            ("Not compared", [text for row in self.rows for text in row.not_compared]),
            ("Exempt", [text for row in self.rows for text in row.exempt]),
        ):
            yield from (f"{what}: {text}" for text in each_name_once(texts))
        yield from dict.fromkeys(self.all_notes())

    def all_notes(self) -> Iterator[str]:
        """Yields the notes, and what is stated of a program that used nothing."""
        yield from self.notes
        looked = [row for row in self.rows if row.law != "faults"]  # of a script that fails without a fault nothing ran
        is_empty = bool(looked or not self.rows) and not any(row.events or row.raised for row in self.rows)
        if self.unused is not None and is_empty:
            what, advice = self.unused
            yield " ".join([what, *[_LITTLE] * self.agrees, *[advice] * bool(advice)])

    def raise_for_difference(self) -> None:
        """Raises an AssertionError with the whole text unless all runs agree.

        It is `Difference` where a row differs, else `NotJudged`: a test that passes has compared something.
        """
        if self.verdict == "differ":
            raise Difference(str(self))
        if self.verdict == "undecided":
            raise NotJudged(str(self))

    def lines(self, *, characters: int | None = None) -> Iterator[Line]:
        """Yields the text of the report, line by line: table, values that are not finite, remarks, differences.

        characters: of a line of the terminal. Where the table has longer ones, a backend or a schedule that is the same
        in all rows is in the title, and not in the table.
        """
        cells = [COLUMNS, *(row.cells() for row in self.rows)]
        columns = [*range(len(COLUMNS))]
        widths = [max(len(one[i]) for one in cells) for i in columns]
        if characters is not None and sum(widths) + 2 * (len(widths) - 1) > characters:
            columns = [i for i in columns if COLUMNS[i] not in _IN_TITLE or len({one[i] for one in cells[1:]}) > 1]
        named = [f"{name} {cells[1][i]}" for i, name in enumerate(COLUMNS) if i not in columns]
        yield Line("title", f"check of {self.program}" + (f": {', '.join(named)}" if named else ""))
        kinds: list[Kind] = ["columns", *(_KINDS[state_of(row)] for row in self.rows)]
        for kind, texts in zip(kinds, cells, strict=True):
            yield Line(kind, "  ".join([texts[i].ljust(widths[i]) for i in columns]).rstrip())
        if any(row.not_finite is not None for row in self.rows):
            yield Line("remark", _NOT_FINITE)
        yield from (Line("remark", text) for text in (*self.not_finite(), *self.remarks()))
        yield from self._not_judged()
        if self.verdict == "differ":
            yield Line("problem", _DIFFERENCES)
            yield from (Line("problem", text) for text in self.problems())
        yield Line("verdict", self._last())

    def _not_judged(self) -> Iterator[Line]:
        texts = [*self.undecided(), *(f"required, and not tried: {remark.text}" for remark in self._missing())]
        if not texts and self.verdict == "undecided":
            texts = [_NOTHING]
        if texts:
            yield Line("undecided", _COULD_NOT)
            yield from (Line("undecided", text) for text in texts)
        if any(row.undecided is not None and not row.why for row in self.rows):
            yield Line("undecided", _ADVICE)

    def _last(self) -> str:
        """Returns the last line: the verdict, what was compared, and what was not tried."""
        verdict = self.verdict
        text = _VERDICTS[verdict]
        if verdict == "agree":
            text += f"{what_was_compared(self.rows)}."
        if self.not_tried:
            text += f" Not tried: {', '.join(REMARKS[remark.word] for remark in self.not_tried)}."
        return text

    def __str__(self) -> str:
        return "\n".join(line.text for line in self.lines())

    def __repr__(self) -> str:
        counts = [(len(self.rows), "row"), (len(self.findings), "finding")]
        texts = [f"{count} {noun}{'' if count == 1 else 's'}" for count, noun in counts]
        return in_cells(f"<Report on {self.program}: {self.verdict}, {', '.join(texts)}>")

    def _repr_html_(self) -> str:
        """Returns the verdict, the rows and what differs, for notebooks."""
        rows = (
            [Marked(cell) if row.problem is not None and cell == row.cells()[4] else cell for cell in row.cells()]
            for row in self.rows
        )
        found = [Marked(in_cells(one.cause or one.text)) for one in self.findings]
        title = in_cells(f"check of {self.program}: {self.verdict}")
        return card(title, COLUMNS, rows, total=len(self.rows), notes=[*found, self._last()])
