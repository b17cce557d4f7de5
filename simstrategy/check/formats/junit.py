"""A report as JUnit XML: one test case for each row, one more for what the whole check could not judge."""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Final, NamedTuple

from simstrategy.check.report import Report
from simstrategy.check.row import Row, state_of

__all__ = ["as_junit", "printable"]

_NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_IN_ATTRIBUTES: Final = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def as_junit(report: Report) -> str:
    """Returns the report as JUnit XML.

    A row that differs is a failure. One that could not be judged is an error, not skipped: CI shows skipped tests as
    passed. Skipped is the row of a law that had nothing to compare, and that was not asked for by name. No time is
    stated: a check measures none.
    """
    cases = [*_cases(report)]
    counts = Counter(case.outcome for case in cases)
    name = f"simstrategy check of {report.program}"
    totals = f'tests="{len(cases)}" failures="{counts["failure"]}" errors="{counts["error"]}" '
    totals += f'skipped="{counts["skipped"]}"'
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f"<testsuites {totals}>",
        f"<testsuite name={_attribute(name)} {totals}>",
        *(_case(report.program, case) for case in cases),
        f"<system-out>{_text(str(report))}</system-out>",
        "</testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


class _Case(NamedTuple):
    """outcome: "failure", "error", "skipped", or "" for a case that passes."""

    name: str
    outcome: str
    text: str


def _cases(report: Report) -> Iterator[_Case]:
    seen: Counter[str] = Counter()
    for row in report.rows:
        name = f"{row.law}: {row.backend}, replicas {row.replicas}, {row.schedule}"
        seen[name] += 1
        yield _of_row(row, name if seen[name] == 1 else f"{name} #{seen[name]}")
    by_rows = any(row.problem is not None or row.undecided is not None for row in report.rows)
    whole = report.verdict == "undecided" and not by_rows
    yield _Case("verdict", "error" if whole else "", str(report) if whole else "")


def _of_row(row: Row, name: str) -> _Case:
    if row.problem is not None:
        return _Case(name, "failure", row.problem)
    if state_of(row) == "skipped":
        return _Case(name, "skipped", "\n".join(row.not_compared) or row.why)
    return _Case(name, "error" if row.undecided is not None else "", row.undecided or "")


def _case(program: str, case: _Case) -> str:
    opening = f"<testcase classname={_attribute(f'simstrategy.check.{program}')} name={_attribute(case.name)}"
    if not case.outcome:
        return f"{opening}/>"
    first = (case.text.splitlines() or [""])[0]
    inner = f"<{case.outcome} message={_attribute(first)}>{_text(case.text)}</{case.outcome}>"
    return f"{opening}>{inner}</testcase>"


def printable(text: str) -> str:
    r"""Returns a text without the characters that XML has no place for: they are written as escapes.

    >>> printable("a\0b")
    'a\\x00b'
    """
    return _NOT_IN_XML.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _text(text: str) -> str:
    return escape(printable(text), quote=False)


def _attribute(text: str) -> str:
    return f'"{escape(printable(text)).translate(_IN_ATTRIBUTES)}"'
