"""A report read back from its data, and several made one: of runs that no single process can make.

What the data do not hold, the runs of a page, a report that was read back does not have.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from simstrategy.check.remarks import Remark
from simstrategy.check.report import Report
from simstrategy.check.row import Finding, Row

__all__ = ["joined", "not_run", "report_of"]

_TRUE_OF_ONE: Final = "backends"
"""The remark on a single report that does not hold of several: that there is no other one."""


def report_of(data: Mapping[str, Any]) -> Report:
    """Returns the report that `as_data` was given, without the runs of a page.

    >>> from simstrategy.check.formats import as_data
    >>> row = Row("sim", "3 against 1", "InOrder()", False, True, 0.0, 0.0, 0, False, None, law="replicas")
    >>> str(report_of(as_data(Report("train.py", [row])))) == str(Report("train.py", [row]))
    True
    """
    findings = iter(data["findings"])
    rows = [_row(one, findings) for one in data["rows"]]
    derived = {*Report(data["program"], rows).remarks()}
    notes = [text for text in data["remarks"] if text not in derived]
    not_tried = [Remark(one["word"], one["text"]) for one in data["not_tried"]]
    required = [one["word"] for one in data["not_tried"] if one["required"]]
    return Report(data["program"], rows, not_tried, required, notes)


def joined(program: str, reports: Mapping[str, Report], note: str) -> Report:
    """Returns one report of several, each row with the name of its report before that of its backend.

    note: what the whole does not compare, as a sentence.

    >>> row = Row("torchrun", "3 against 1", "linear", False, True, 0.0, 0.0, 0, False, None, law="replicas")
    >>> print(joined("train.py", {"torch": Report("train.py", [row])}, "").rows[0].backend)
    torch: torchrun
    """
    rows = [_named(row, name) for name, report in reports.items() for row in report.rows]
    texts: dict[str, list[str]] = {}
    for name, report in reports.items():
        for remark in report.not_tried:
            if remark.word != _TRUE_OF_ONE:
                texts.setdefault(remark.word, []).append(f"{name}: {remark.text}")
    not_tried = [Remark(word, " ".join(found)) for word, found in texts.items()]
    required = dict.fromkeys(word for report in reports.values() for word in report.required)
    notes = [f"{name}: {text}" for name, report in reports.items() for text in report.all_notes()]
    return Report(program, rows, not_tried, [*required], [*notes, note])


def not_run(program: str, backend: str, replicas: str, why: str) -> Report:
    """Returns the report of a program that did not run: one row, which is not judged.  why: as a sentence."""
    row = Row(
        *(backend, replicas, "none ran", False, False, 0.0, 0.0, 0, False, None),
        raised=True,  # so that it is not taken for a program that ran and used nothing
        undecided=why,
        law="replicas",
        compared=0,
        why="it did not run",
    )
    return Report(program, [row])


def _row(data: Mapping[str, Any], findings: Iterable[Mapping[str, Any]]) -> Row:
    given = {name: data[name] for name in Row._fields if name in data}
    given |= {name: float(given[name]) for name in ("distance", "one_ulp")}
    given |= {name: tuple(given[name]) for name in ("not_compared", "exempt")}
    finding = None if data["problem"] is None else next(iter(findings))
    found = None if finding is None else Finding(**{**finding, "also": tuple(finding["also"])})
    return Row(**given, finding=found)


def _named(row: Row, name: str) -> Row:
    backend = f"{name}: {row.backend}"
    finding = None if row.finding is None else row.finding._replace(backend=backend)
    return row._replace(backend=backend, finding=finding)
