"""What `simstrategy conform --matrix` makes of files: texts, which the command writes."""

from collections.abc import Sequence
from pathlib import Path

from simstrategy.errors import InvalidArgument
from simstrategy_conformance.matrix.badge import badge_text
from simstrategy_conformance.matrix.columns import Column, column_of
from simstrategy_conformance.matrix.files import read_report
from simstrategy_conformance.matrix.law import read_law
from simstrategy_conformance.matrix.page import page_text

__all__ = ["badge_of_files", "page_of_files"]


def page_of_files(reports: Sequence[Path], laws: Sequence[Path] = ()) -> str:
    """Returns the page of reports.  laws: pages that state the clauses.

    Raises InvalidArgument for a file that is no report, and for two reports of the same examination.
    """
    found: dict[tuple[object, ...], Path] = {}
    columns = []
    for file in reports:
        column = column_of(read_report(file))
        same = found.setdefault(_identity(column), file)
        if same is not file:
            raise InvalidArgument(
                f"{same} and {file} are reports of the same examination of {column.backend}: backend, command, "
                f"versions and law are equal. Leave one out."
            )
        columns.append(column)
    return page_text(columns, {name: text for law in laws for name, text in read_law(law).items()})


def badge_of_files(reports: Sequence[Path]) -> str:
    """Returns the badge of a report.  Raises InvalidArgument unless there is exactly one."""
    if len(reports) != 1:
        raise InvalidArgument(f"A badge is that of one report, and {len(reports)} are given: name one.")
    return badge_text(column_of(read_report(reports[0])))


def _identity(column: Column) -> tuple[object, ...]:
    return column.backend, column.repeat, column.law, tuple(sorted(column.versions.items()))
