"""A report as data, versioned: what programs read.  docs/testing_your_program.md lists the fields."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from simstrategy.check.remarks import Remark
from simstrategy.check.report import Line, Report
from simstrategy.check.row import Finding, Row, state_of

__all__ = ["EXIT_CODES", "VERSION", "as_data", "as_json", "below_the_table"]

VERSION: Final = 1
"""Rises when a field is taken away or means something else; fields may be added at any time."""

EXIT_CODES: Final = {"agree": 0, "differ": 1, "undecided": 2}
"""With what `simstrategy check` ends, by the verdict."""


def as_json(report: Report) -> str:
    """Returns the report as one JSON object, ASCII, with a newline at its end.  Numbers that JSON lacks are texts.

    >>> row = Row("sim", "3 against 1", "InOrder()", False, True, 0.0, 0.0, 0, False, None, law="replicas")
    >>> json.loads(as_json(Report("train.py", [row])))["verdict"]
    'agree'
    """
    return json.dumps(as_data(report), indent=2, allow_nan=False) + "\n"


def as_data(report: Report) -> Mapping[str, Any]:
    """Returns the report as nests of texts, numbers, truth values and None."""
    *_, last = report.lines()
    return {
        "format": "simstrategy-check",
        "version": VERSION,
        "program": report.program,
        "verdict": report.verdict,
        "exit_code": EXIT_CODES[report.verdict],
        "summary": last.text,
        "rows": [_row(row) for row in report.rows],
        "findings": [_finding(finding) for finding in report.findings],
        "undecided": [*report.undecided()],
        "not_finite": [*report.not_finite()],
        "remarks": [*report.remarks()],
        "not_tried": [_remark(remark, required=remark.word in report.required) for remark in report.not_tried],
        "text": str(report),
    }


def below_the_table(report: Report) -> list[Line]:
    """Returns the lines of the report's text after its title, the table and before its last line."""
    lines = [*report.lines()]
    return lines[2 + len(report.rows) : -1]


def _row(row: Row) -> dict[str, Any]:
    return {
        "law": row.law,
        "backend": row.backend,
        "replicas": row.replicas,
        "schedule": row.schedule,
        "state": state_of(row),
        "reference": row.reference,
        "problem": row.problem,
        "undecided": row.undecided,
        "compared": row.compared,
        "equal_bits": row.equal_bits,
        "distance": _number(row.distance),
        "one_ulp": _number(row.one_ulp),
        "events": row.events,
        "trace_compared": row.trace_compared,
        "raised": row.raised,
        "not_finite": row.not_finite,
        "not_compared": list(row.not_compared),
        "exempt": list(row.exempt),
        "why": row.why,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    fields = {name: value for name, value in finding._asdict().items() if name != "shown"}
    return fields | {"also": list(finding.also)}


def _remark(remark: Remark, *, required: bool) -> dict[str, Any]:
    return {"word": remark.word, "text": remark.text, "required": required}


def _number(value: float) -> float | str:
    return float(value) if isfinite(value) else str(float(value))
