"""The judge, seen from the programs by which it is judged: one place for the names of its report.

A finding is read through `Found`; nothing else in this folder, or in `ci/campaigns/mutated.py`, reads a report.
"""

import re
import warnings
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import numpy as np
from corpus import Wrong
from measured import COUNTS, Program

import simstrategy as ss

LAW: Final = "replicas"
"""The law that compares numbers of replicas."""

KINDS: Final = {
    "mean of means": r"mean of means",
    "sum of means": r"sum of means",
    "added on every replica": r"added on every replica",
    "summed where averaged was meant": r"summed where averag",
    "divided by the number of replicas once too often": r"divided by .*replicas|once too often",
    "scaled by the square root of the number of replicas": r"square root|√",
    "global batch grows with the number of replicas": r"batch grows",
    "other batches": r"other batches",
    "scaled by the number of replicas": r"(scaled|multiplied) by .*replicas",
    "squared norms summed again": r"squared norms?",
    "clipping before the sum": r"clip",
    "statistics per replica": r"statistic",
    "different draws": r"draw|random",
    "duplicated samples": r"duplicat|repeated",
    "missing samples": r"missing sample|samples? .*(miss|lost)|lost sample",
    "written by one replica only": r"one replica only",
    "missing reduction": r"(missing|without|no) reduction",
    "accumulation window": r"accumulat|window",
    "steps counted by every replica": r"steps? .*(counted|by every replica)|scheduler",
    "not recognised": r"not recogni[sz]ed|unrecogni[sz]ed|unknown",
}
"""The kinds of the tables, each with a pattern for the judge's text; the first that matches counts."""


class Found(NamedTuple):
    """One finding.

    kind: of KINDS. step: from 0, or None. variable, file: names or "". line: in the file, or None. count: the number of
    replicas that is compared with the first one, or None. also: other kinds that the judge cannot tell from it.
    """

    law: str
    kind: str
    step: int | None = None
    variable: str = ""
    file: str = ""
    line: int | None = None
    count: int | None = None
    also: tuple[str, ...] = ()

    @property
    def kinds(self) -> set[str]:
        """What the judge calls it: its kind, and those that have the same numbers."""
        return {self.kind, *self.also}


class Judgement(NamedTuple):
    """What the judge answered.  verdict: "agree", "differ" or "undecided". text: the whole report."""

    verdict: str
    findings: tuple[Found, ...]
    text: str

    @property
    def counts(self) -> list[int | None]:
        """The numbers of replicas at which the law of replicas has a finding, sorted."""
        return sorted({one.count for one in self.of_replicas}, key=lambda count: count or 0)

    @property
    def of_replicas(self) -> tuple[Found, ...]:
        """The findings of the law of replicas."""
        return tuple(one for one in self.findings if one.law == LAW)


def why_not() -> str | None:
    """Returns why programs cannot be judged with this version, or None if they can."""
    report = ss.check(counts_replicas, replicas=(1, 2))
    return None if hasattr(report, "findings") else "the report of this version has no findings: no law of replicas"


def counts_replicas(strategy: ss.Strategy) -> Any:
    """Returns the number of replicas, in a variable to which each of them adds the same."""
    with strategy.scope():
        total = ss.Variable(0.0, aggregation=ss.VariableAggregation.SUM, name="total")
    strategy.run(lambda: total.assign_add(ss.get_replica_context().xp.ones(())))
    return total


def judged(program: Program, replicas: tuple[int, ...] = COUNTS) -> Judgement:
    """Runs the judge on a program."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        report: Any = ss.check(program, replicas=replicas)
    # An attribute or a method: iterators of texts are methods of the report today.
    findings = report.findings() if callable(report.findings) else report.findings
    return Judgement(report.verdict, tuple(found(one) for one in findings), str(report))


def found(finding: Any) -> Found:
    """Reads one finding of a report, which counts steps from 1."""
    step = None if finding.step is None else int(finding.step) - 1
    variable = "" if finding.variable is None else str(finding.variable)
    # "3 against 1" of the law of replicas.
    count = re.match(r"\d+", str(finding.replicas))
    file, line = place_of(finding.site)
    number = int(count[0]) if count else None
    also = tuple([kind_of(one) for one in getattr(finding, "also", ())])
    return Found(str(finding.law), kind_of(finding.kind), step, variable, file, line, number, also)


def kind_of(kind: Any) -> str:
    """Returns the name in the tables of a kind that the judge gave."""
    text = "not recognised" if kind is None else str(kind)
    return next((name for name, pattern in KINDS.items() if re.search(pattern, text, re.IGNORECASE)), text)


def place_of(site: Any) -> tuple[str, int | None]:
    """Returns file name and line of a site, which is a pair of path and line, or a text such as "program.py:12"."""
    if isinstance(site, tuple):
        return PurePath(site[0]).name, int(site[1])
    places = re.findall(r"([\w.-]+):(\d+)", str(site))
    return (places[-1][0], int(places[-1][1])) if places else ("", None)


def faults(row: Wrong, answer: Judgement) -> list[str]:
    """Returns what is not right in the answer to a wrong program: its verdict, kind, step, place, variable."""
    if answer.verdict != "differ" or not answer.of_replicas:
        return [f"verdict {answer.verdict}, findings of the law: {len(answer.of_replicas)}"]
    first = answer.of_replicas[0]
    right = {
        f"kind {first.kind}": bool(first.kinds & set(row.kinds)),
        f"step {first.step}": first.step in row.steps,
        f"place {first.file}:{first.line}": (first.file, first.line) in row.places,
        f"variable {first.variable!r}": not row.variables or first.variable in row.variables,
    }
    return [text for text, good in right.items() if not good]


def accusations(verdicts: list[str], answer: Judgement) -> list[str]:
    """Returns what is not right in the answer to a lawful program.  verdicts: those that are allowed."""
    wrong = [] if answer.verdict in verdicts else [f"verdict {answer.verdict}"]
    return wrong + [f"finding: {one.kind}" for one in answer.findings]
