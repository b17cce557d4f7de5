"""A report as Markdown for the summary of a CI job, which may have one MiB in all."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from simstrategy.check.formats.data import below_the_table
from simstrategy.check.report import Report
from simstrategy.check.row import COLUMNS

__all__ = ["BYTES_MAX", "as_markdown"]

BYTES_MAX: Final = 256 * 1024
"""Of one report: a summary may hold several."""

_ROWS_MAX: Final = 500
_CELL_MAX: Final = 200
_MARKS: Final = {"agree": "✅", "differ": "❌", "undecided": "⚠️"}


def as_markdown(report: Report) -> str:
    """Returns the report as Markdown of at most BYTES_MAX bytes in UTF-8: a table, and its text where one is needed.

    Longer tables and texts are cut, and that is stated.
    """
    *_, last = report.lines()
    rows = [row.cells() for row in report.rows[:_ROWS_MAX]]
    table = [_line(COLUMNS), _line(["---"] * len(COLUMNS)), *(_line(cells) for cells in rows)]
    if len(report.rows) > _ROWS_MAX:
        table.append(f"\n… and {len(report.rows) - _ROWS_MAX} more rows")
    head = f"### {_MARKS[report.verdict]} check of {_cell(report.program)}\n\n{_cell(last.text, most=2000)}\n\n"
    text = head + "\n".join(table) + "\n"
    details = [*_details(report)]
    return text + _fenced(details, BYTES_MAX - len(text.encode("utf-8"))) if details else text


def _details(report: Report) -> Iterator[str]:
    """Yields the lines below the table: what differs, what was not judged, and what limits the verdict."""
    for line in below_the_table(report):
        yield from line.text.splitlines()
    if report.not_tried:
        yield "Not tried:"
        yield from (f"  {remark.text}" for remark in report.not_tried)


def _fenced(lines: Sequence[str], bytes_left: int) -> str:
    """Returns lines as a block of code of at most `bytes_left` bytes, fenced by more backticks than they have."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    if len(fence) > _CELL_MAX:  # a text made of backticks
        fence, lines = "```", [line.replace("`", "'") for line in lines]
    kept: list[str] = []
    left = bytes_left - 2 * len(fence) - 100
    for line in lines:
        shown = _printable(line)
        left -= len(shown.encode("utf-8")) + 1
        if left < 0:
            kept.append("… (cut here)")
            break
        kept.append(shown)
    return "\n".join(["", f"{fence}text", *kept, fence, ""])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str, most: int = _CELL_MAX) -> str:
    r"""Returns a text as one line of Markdown that shows it as it is.

    >>> _cell("a|b\n<i>")
    'a\\|b &lt;i&gt;'
    """
    shown = " ".join(_printable(text).split())
    shown = shown if len(shown) <= most else f"{shown[:most]} …"
    if shown == "---":
        return shown
    escaped = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~#@])", r"\\\1", escaped)


def _printable(text: str) -> str:
    """Returns a text without what UTF-8 cannot write, and without control characters."""
    return re.sub("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", lambda found: ascii(found[0])[1:-1], text)
