"""Scores a tool: what it makes of every wrong program, and whether it accuses right ones.

A wrong program is `found` where the tool accuses it, and its text names the kind of the bug and one of its lines.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from simstrategy_corpus.cases import Bug, Case, Healthy
from simstrategy_corpus.kinds import KINDS
from simstrategy_corpus.tools import Answer, Tool, Verdict

FORMAT = "simstrategy-corpus-score"
SECONDS_LATE = 10.0
"""A finding is late that takes so much longer than the tool takes for the right program."""
OF_WRONG: Mapping[str, str] = {
    "found": "named with its kind and a line of it",
    "found late": "the same, more than ten seconds after the right program would have ended",
    "noticed": "an error that lacks the kind or the line",
    "hang": "no answer within the limit",
    "silent": "passed: a wrong number, or a fault, without a word",
    "undecided": "the tool states that it could not judge",
    "crash": "the tool itself failed",
    "cannot run": "the tool is not for such programs",
}
OF_RIGHT: Mapping[str, str] = {
    "passed": "passed",
    "accused": "a false accusation",
    "hang": "no answer within the limit",
    "undecided": "the tool states that it could not judge",
    "crash": "the tool itself failed",
    "cannot run": "the tool is not for such programs",
}
_OTHERS = {
    Verdict.HANGS: "hang",
    Verdict.UNDECIDED: "undecided",
    Verdict.CRASHES: "crash",
    Verdict.CANNOT: "cannot run",
}


@dataclass(frozen=True, slots=True)
class Row:
    """What a tool made of one folder of the corpus.

    wrong: a key of OF_WRONG, "" for healthy programs.  right: a key of OF_RIGHT.  reason: the end of what the tool
    printed where it failed.
    """

    name: str
    wrong: str
    right: str
    seconds: float
    reason: str = ""


def score_bug(tool: Tool, bug: Bug, limit: float) -> Row:
    """Returns what a tool makes of a bug's two programs, each within `limit` seconds."""
    right, wrong = _asked(tool, bug.right, limit), _asked(tool, bug.wrong, limit)
    end = _OTHERS.get(wrong.verdict, "silent")
    if wrong.verdict is Verdict.ACCUSES:
        end = "noticed"
        if names(bug, wrong.text):
            end = "found late" if wrong.seconds > right.seconds + SECONDS_LATE else "found"
    return Row(bug.name, end, _of_right(right), wrong.seconds, _reason(right) or _reason(wrong))


def score_healthy(tool: Tool, healthy: Healthy, limit: float) -> Row:
    """Returns what a tool makes of a healthy program."""
    answer = _asked(tool, healthy.case, limit)
    return Row(healthy.name, "", _of_right(answer), answer.seconds, _reason(answer))


def names(bug: Bug, text: str) -> bool:
    """Returns whether a text names a bug: its kind, and one of its lines as `wrong.py:7` or `wrong.py", line 7`."""
    places = {int(one) for one in re.findall(r"\bwrong\.py(?::|\", line |, line | line )(\d+)\b", text)}
    return bool(places & set(bug.lines)) and re.search(KINDS[bug.kind], text, re.IGNORECASE) is not None


def table(tool: str, rows: Sequence[Row]) -> str:
    """Returns the rows as a table, and the totals below it."""
    lines = [f"{'program':28} {'wrong':11} {'right':11} seconds"]
    lines += [f"{row.name:28} {row.wrong or '—':11} {row.right:11} {row.seconds:7.1f}" for row in rows]
    return "\n".join([*lines, "", *totals(tool, rows)])


def totals(tool: str, rows: Sequence[Row]) -> list[str]:
    """Returns sentences on all rows."""
    bugs = [row for row in rows if row.wrong]
    wrong, right = Counter(row.wrong for row in bugs), Counter(row.right for row in rows)
    found = wrong["found"] + wrong["found late"]
    seconds = sum(row.seconds for row in bugs)
    return [
        f"{tool} finds {found} of {len(bugs)} bugs in {seconds:.0f} seconds.",
        f"It accuses {right['accused']} of {len(rows)} right programs.",
        f"Wrong programs: {_counted(wrong, OF_WRONG)}.",
        f"Right programs: {_counted(right, OF_RIGHT)}.",
    ]


def as_data(tool: str, rows: Iterable[Row]) -> dict[str, object]:
    """Returns the rows for a JSON file."""
    return {"format": FORMAT, "version": 1, "tool": tool, "rows": [asdict(row) for row in rows]}


def from_data(data: Any) -> tuple[str, list[Row]]:
    """Returns the tool and the rows of a JSON file.  Raises `ValueError` for other data."""
    if not isinstance(data, dict) or (data.get("format"), data.get("version")) != (FORMAT, 1):
        raise ValueError(f"it is no score of version 1: write it with score --json. It begins with {str(data)[:60]}")
    return data["tool"], [Row(**row) for row in data["rows"]]


def markdown(scores: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """Returns a table with a line for each tool and its rows: who finds and notices most comes first."""
    head = [
        "| tool | finds | in seconds | noticed | silent | undecided | hang, crash | cannot run | false accusations |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    lines: list[tuple[int, int, str]] = []
    for tool, rows in scores:
        bugs = [row for row in rows if row.wrong]
        wrong = Counter(row.wrong for row in bugs)
        found, broken = wrong["found"] + wrong["found late"], wrong["hang"] + wrong["crash"]
        accused = sum(row.right == "accused" for row in rows)
        cells = [f"`{tool}`", f"{found} of {len(bugs)}", f"{sum(row.seconds for row in bugs):.0f}"]
        cells += [str(number) for number in (wrong["noticed"], wrong["silent"], wrong["undecided"], broken)]
        cells += [str(wrong["cannot run"]), f"{accused} of {len(rows)}"]
        lines.append((-found, -wrong["noticed"], f"| {' | '.join(cells)} |"))
    return "\n".join([*head, *(line for _, _, line in sorted(lines))])


def _asked(tool: Tool, case: Case, limit: float) -> Answer:
    """Returns a tool's answer; a tool that raises has crashed, and the others go on."""
    try:
        return tool.answer(case, limit)
    except Exception as error:  # noqa: BLE001 a stranger's tool may raise anything
        return Answer(Verdict.CRASHES, f"{type(error).__name__}: {error}", 0.0)


def _of_right(answer: Answer) -> str:
    return {Verdict.PASSES: "passed", Verdict.ACCUSES: "accused"}.get(answer.verdict) or _OTHERS[answer.verdict]


def _reason(answer: Answer) -> str:
    if answer.verdict is Verdict.PASSES or answer.verdict is Verdict.HANGS:
        return ""
    return "\n".join(answer.text.strip().splitlines()[-12:])[-1500:]


def _counted(counter: Counter[str], order: Iterable[str]) -> str:
    return ", ".join(f"{counter[key]} {key}" for key in order if counter[key])
