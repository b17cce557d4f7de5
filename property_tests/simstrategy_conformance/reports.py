"""Reports of an examination: a table by clause for the terminal, JSON with a schema, and Markdown.

The files have no times, so that the same run writes the same bytes; the terminal shows times. JUnit XML comes from
pytest (`--junitxml`), with times; clauses and counts are among its properties.
"""

import json
import platform
import statistics
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final, NamedTuple

from simstrategy_conformance.coverage import CONSTRUCTS
from simstrategy_conformance.exceptions import Excepted

__all__ = ["VERSION", "Outcome", "Report", "json_text", "markdown_text", "table_lines"]

VERSION: Final = 1
_ORDER: Final = ("failed", "excepted", "passed", "skipped")
"""The worst first: a clause is as good as its worst test, and skipped only if all its tests are."""


class Outcome(NamedTuple):
    """What came of one test.  text: of its failure."""

    name: str
    clauses: tuple[str, ...]
    verdict: str
    examples: int
    seconds: float
    text: str


class Report(NamedTuple):
    """wrong: what no single test shows, such as exceptions that pass.  words: the number of programs with each."""

    backend: str
    profile: str
    seed: int
    outcomes: tuple[Outcome, ...]
    exceptions: tuple[Excepted, ...]
    wrong: tuple[str, ...]
    words: dict[str, int]

    @property
    def conforms(self) -> bool:
        """Whether nothing failed that is not excepted, and every exception holds."""
        return not self.wrong and all(one.verdict != "failed" for one in self.outcomes)

    def clauses(self) -> dict[str, list[Outcome]]:
        """Returns the outcomes of each clause, in the order of the law's letters and numbers."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            for one in outcome.clauses:
                found.setdefault(one, []).append(outcome)
        return {one: found[one] for one in sorted(found, key=lambda one: (one[0], int(one[2:])))}


def _verdict(outcomes: list[Outcome]) -> str:
    return next(one for one in _ORDER if any(outcome.verdict == one for outcome in outcomes))


def _rows(report: Report) -> list[tuple[str, str, int, int, float]]:
    return [
        (name, _verdict(found), len(found), sum(one.examples for one in found), sum(one.seconds for one in found))
        for name, found in report.clauses().items()
    ]


def constructs(report: Report) -> tuple[dict[str, float], float]:
    """Returns what share of whole programs has each construct, and the median number of their collectives."""
    counts = [
        int(word.partition(" ")[2])
        for word, times in sorted(report.words.items())
        if word.startswith("collectives ")
        for _ in range(times)
    ]
    if not counts:
        return {}, 0.0
    return {word: report.words.get(word, 0) / len(counts) for word in CONSTRUCTS}, float(statistics.median(counts))


def table_lines(report: Report) -> list[str]:
    """Returns the table by clause, what programs were made of, and the verdict."""
    lines = ["", f"{report.backend}: conformance, profile {report.profile}, seed {report.seed}", ""]
    lines += [f"{'clause':<7} {'verdict':<9} {'tests':>5} {'examples':>9} {'seconds':>8}"]
    for name, verdict, tests, examples, seconds in _rows(report):
        lines.append(f"{name:<7} {verdict:<9} {tests:>5} {examples:>9} {seconds:>8.2f}")
    shares, median = constructs(report)
    if shares:
        listed = ", ".join(f"{word} {share:.0%}" for word, share in shares.items())
        lines += ["", f"Programs with: {listed}; median of collectives: {median:g}."]
    lines += ["", *(f"excepted: {one}" for one in report.exceptions), *report.wrong]
    failed = sorted({name for one in report.outcomes if one.verdict == "failed" for name in one.clauses})
    verdict = f"breaks {', '.join(failed)}." if failed else "conforms." if report.conforms else "does not conform."
    return [*lines, f"{report.backend} {verdict}"]


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("simstrategy", "simstrategy-conformance", "numpy", "hypothesis"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def json_text(report: Report) -> str:
    """Returns the report as JSON, as report.schema.json describes it."""
    shares, median = constructs(report)
    document: dict[str, Any] = {
        "format": "simstrategy-conformance",
        "version": VERSION,
        "backend": report.backend,
        "profile": report.profile,
        "seed": report.seed,
        "versions": _versions(),
        "conforms": report.conforms,
        "clauses": [
            {
                "clause": name,
                "verdict": _verdict(found),
                "tests": [
                    {"name": o.name, "verdict": o.verdict, "examples": o.examples}
                    | ({"failure": o.text} if o.text else {})
                    for o in found
                ],
            }
            for name, found in report.clauses().items()
        ],
        "exceptions": [one._asdict() for one in report.exceptions],
        "wrong": list(report.wrong),
        "programs": {"shares": shares, "collectives_median": median},
    }
    return json.dumps(document, indent=2) + "\n"


def markdown_text(report: Report) -> str:
    """Returns the report as a page."""
    versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
    lines = [f"# Conformance of `{report.backend}`", ""]
    lines += [f"Profile `{report.profile}`, seed {report.seed}; {versions}.", ""]
    lines += [f"**{'Conforms' if report.conforms else 'Does not conform'}.**", ""]
    lines += ["| clause | verdict | tests | examples |", "|---|---|---:|---:|"]
    lines += [f"| {name} | {verdict} | {tests} | {examples} |" for name, verdict, tests, examples, _ in _rows(report)]
    if report.exceptions:
        lines += ["", "## Exceptions", "", "| clause | test | kind | reason |", "|---|---|---|---|"]
        lines += [f"| {o.clause} | {o.test or 'all'} | {o.kind} | {o.reason} {o.link} |" for o in report.exceptions]
    failed = [one for one in report.outcomes if one.verdict == "failed"]
    for one in failed:
        lines += ["", f"## {', '.join(one.clauses)}: {one.name}", "", "```", one.text.strip(), "```"]
    return "\n".join([*lines, *(["", *report.wrong] if report.wrong else []), ""])
