"""What a run for the law of faults left behind: how its ranks ended, and the values that they hold in the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simstrategy.check.scripts.facts import Ended, Ending, Value, bits_equal
from simstrategy.trace import describe_site
from simstrategy_torch_distributed.calls import JOINS, call_text
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.watched.entries import read

__all__ = ["end_values", "ended_of"]

Host = np.ndarray[Any, Any]


def ended_of(report: Report, files: Sequence[Path]) -> Ended:
    """Returns how a run ended.  files: what its ranks have recorded, in rank order."""
    found, steps = _last(files)
    endings, points = [], []
    for one in report.ranks:
        facts = report.planted.get(one.rank, {})
        caught = describe_site((facts["caught"][0], facts["caught"][1])) if "caught" in facts else ""
        is_forced, was_busy = facts.get("is_forced", False), facts.get("was_busy", False)
        endings.append(Ending(one.code, one.text, caught, is_forced, was_busy, steps[one.rank]))
        calls = [] if report.record is None else report.record.calls_of(one.rank)
        points.append(tuple(call_text(call) for call in calls if call.kind not in JOINS))
    return Ended(
        tuple(endings),
        any(facts.get("is_planted", False) for facts in report.planted.values()),
        tuple(points),
        tuple(report.planted.get(one.rank, {}).get("inputs", 0) for one in report.ranks),
        None if report.finding is None else report.finding.kind,
        "" if report.finding is None else report.finding.text,
        _values(found),
    )


def end_values(files: Sequence[Path]) -> tuple[Value, ...]:
    """Returns the last value of each parameter and of each observed name.  files: what the ranks have recorded."""
    return _values(_last(files)[0])


def _last(files: Sequence[Path]) -> tuple[list[dict[str, Host]], list[int]]:
    """Returns for each rank its last values by path, and how many steps it has made."""
    found: list[dict[str, Host]] = []
    steps = []
    for file in files:
        last: dict[str, Host] = {}
        count = 0
        for entry in read(file):
            if entry.what == "observed":
                last[f"the last {entry.facts['name']!r}"] = entry.arrays[0]
            elif entry.what == "step":
                count = max(count, entry.facts["step"])
            elif entry.what == "end":
                forms = entry.facts["forms"]
                for name, form, array in zip(entry.facts["names"], forms, entry.arrays, strict=False):
                    if "offset" not in form and "left" not in form:
                        last[f"parameter {name!r} at the end"] = array
        found.append(last)
        steps.append(count)
    return found, steps


def _values(found: Sequence[dict[str, Host]]) -> tuple[Value, ...]:
    values = []
    for path in dict.fromkeys(path for last in found for path in last):
        copies = tuple(last[path] for last in found if path in last)
        values.append(Value(path, copies[:1] if bits_equal(copies) else copies, copies[0].dtype.name, is_state=True))
    return tuple(values)
