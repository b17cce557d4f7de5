"""Reports of an examination: a table by clause for the terminal, JSON with a schema, and Markdown.

The files have no times, so that the same run writes the same bytes; the terminal shows times. JUnit XML comes from
pytest (`--junitxml`), with times; clauses and counts are among its properties.
"""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from simstrategy_conformance.c10d.names import is_c10d
from simstrategy_conformance.coverage import CONSTRUCTS
from simstrategy_conformance.examined import command_of, law_of, versions_of
from simstrategy_conformance.exceptions import Excepted
from simstrategy_conformance.tally import Covered
from simstrategy_conformance.titles import TITLES

__all__ = ["FORMAT", "VERSION", "Note", "Outcome", "Report", "json_text", "markdown_text", "table_lines"]

FORMAT: Final = "simstrategy-conformance"
VERSION: Final = 2
_ORDER: Final = ("failed", "excepted", "passed", "skipped")
"""The worst first: a clause is as good as its worst test, and skipped only if all its tests are."""


class Outcome(NamedTuple):
    """What came of one test.

    text: of its failure, or why it was skipped. covered: what its rows held, where it passed and has rows.
    """

    name: str
    clauses: tuple[str, ...]
    verdict: str
    examples: int
    seconds: float
    text: str
    covered: Covered | None = None


class Note(NamedTuple):
    """What a test has found that is no fault.  kind: "tried", "done by", "not offered", "differs" between backends."""

    kind: str
    text: str


class Report(NamedTuple):
    """wrong: what no single test shows, such as exceptions that pass.  words: the number of programs with each.

    known: the tests of each clause that the kit has for such backends. file: the exceptions that the command named.
    left_out: what exceptions of the file are not those of this backend and profile.
    """

    backend: str
    profile: str
    seed: int
    outcomes: tuple[Outcome, ...]
    exceptions: tuple[Excepted, ...]
    wrong: tuple[str, ...]
    words: dict[str, int]
    notes: tuple[Note, ...] = ()
    known: Mapping[str, Sequence[str]] = {}
    file: str = ""
    left_out: str = ""

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
        return {one: found[one] for one in sorted(found, key=_place)}


def _place(clause: str) -> tuple[str, int]:
    """Returns by what clauses are sorted: letter, then number."""
    return clause[0], int(clause[2:])


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


def _covering(report: Report) -> list[tuple[str, int, str, str]]:
    """Returns test, rows, pairs and triples of each test with rows that cover."""
    return [
        (one.name.removeprefix("test_"), one.covered.rows, _of(one.covered.pairs), _of(one.covered.triples))
        for one in report.outcomes
        if one.covered is not None
    ]


def _skipped(report: Report) -> dict[str, str]:
    """Returns the skipped tests with their clauses, by reason: a clause that passed may have some, too."""
    found: dict[str, list[str]] = {}
    for one in report.outcomes:
        if one.verdict == "skipped":
            found.setdefault(" ".join(one.text.split()), []).append(f"{', '.join(one.clauses)} {one.name}")
    return {text: "; ".join(tests) for text, tests in found.items()}


def _of(counts: Sequence[int]) -> str:
    return f"{counts[0]:,} of {counts[1]:,}" if counts[1] else "not tried"


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
    covering = _covering(report)
    if covering:
        lines += ["", f"{'covered by construction':<45} {'rows':>5} {'pairs':>15} {'triples':>15}"]
        lines += [f"{name:<45} {rows:>5} {pairs:>15} {triples:>15}" for name, rows, pairs, triples in covering]
    if report.notes:
        lines += ["", *(f"{one.kind}: {one.text}" for one in report.notes)]
    skipped = _skipped(report)
    if skipped:
        lines += ["", *(f"skipped: {tests}: {text}" for text, tests in skipped.items())]
    examined = [one for one in report.exceptions if any(one.covers(o.clauses, o.name) for o in report.outcomes)]
    lines += ["", *(f"excepted: {one}" for one in examined), *report.wrong]
    failed = sorted({name for one in report.outcomes if one.verdict == "failed" for name in one.clauses}, key=_place)
    if failed and report.left_out:
        lines.append(f"exceptions not applied: {report.left_out}")
    return [*lines, f"{report.backend} {_last_words(report, failed)}"]


def _last_words(report: Report, failed: Sequence[str]) -> str:
    if failed:
        return f"breaks {', '.join(failed)}."
    if not report.conforms:
        return "does not conform."
    known = len(report.known)
    excepted = [name for name, found in report.clauses().items() if _verdict(found) == "excepted"]
    exceptions = f", with exceptions in {', '.join(excepted)}" if excepted else ""
    in_part = sum(bool(one["tests"] and one["not_run"]) for one in _clauses(report))
    whole = len(report.clauses()) - in_part
    if whole < known:
        part = f"{in_part} {'was' if in_part == 1 else 'were'} examined in part, " if in_part else ""
        return f"conforms in {whole} of {known} clauses{exceptions}; {part}the others were not examined."
    parts = any(one.kind == "not offered" for one in report.notes)
    if parts:
        return f"conforms in what it offers{exceptions}; what it does not offer is listed above."
    return f"conforms{exceptions}."


def json_text(report: Report) -> str:
    """Returns the report as JSON, as report.schema.json describes it."""
    shares, median = constructs(report)
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "backend": report.backend,
        "kind": "c10d" if is_c10d(report.backend) else "device",
        "profile": report.profile,
        "seed": report.seed,
        "repeat": command_of(report.backend, report.profile, report.seed, exceptions=report.file),
        "law": law_of(report.known),
        "versions": versions_of(report.backend),
        "conforms": report.conforms,
        "clauses": list(_clauses(report)),
        "exceptions": [_exception(one) for one in report.exceptions],
        "wrong": list(report.wrong),
        "programs": {"shares": shares, "collectives_median": median},
    } | ({"notes": [one._asdict() for one in report.notes]} if report.notes else {})
    return json.dumps(document, indent=2) + "\n"


def _exception(one: Excepted) -> dict[str, Any]:
    """Returns an exception; profiles where it is limited to some."""
    fields = one._asdict()
    profiles = fields.pop("profiles")
    return fields | ({"profiles": [*profiles]} if profiles else {})


def _clauses(report: Report) -> Iterator[dict[str, Any]]:
    """Yields the table of each clause that the kit has, also of those that did not run."""
    outcomes = report.clauses()
    for name in sorted({*outcomes, *report.known}, key=_place):
        found = outcomes.get(name, [])
        ran = {one.name.partition("[")[0] for one in found}
        yield {
            "clause": name,
            "title": TITLES.get(name, ""),
            "verdict": _verdict(found) if found else "not run",
            "repeat": command_of(report.backend, report.profile, report.seed, exceptions=report.file, clause=name),
            "tests": [_test(one) for one in found],
            "not_run": [one for one in report.known.get(name, ()) if one not in ran],
        }


def _test(one: Outcome) -> dict[str, Any]:
    text = {"failure" if one.verdict == "failed" else "reason": one.text} if one.text else {}
    covered = {"covered": one.covered._asdict()} if one.covered else {}
    return {"name": one.name, "verdict": one.verdict, "examples": one.examples} | text | covered


def _cell(text: str) -> str:
    """Returns a text for a cell of a table in Markdown."""
    return text.replace("|", "\\|")


def markdown_text(report: Report) -> str:
    """Returns the report as a page."""
    versions = ", ".join(f"{name} {number}" for name, number in versions_of(report.backend).items())
    lines = [f"# Conformance of `{report.backend}`", ""]
    lines += [f"Profile `{report.profile}`, seed {report.seed}; {versions}.", ""]
    lines += [f"**{'Conforms' if report.conforms else 'Does not conform'}.**", ""]
    lines += ["| clause | verdict | tests | examples |", "|---|---|---:|---:|"]
    lines += [f"| {name} | {verdict} | {tests} | {examples} |" for name, verdict, tests, examples, _ in _rows(report)]
    covering = _covering(report)
    if covering:
        lines += ["", "## Covered by construction", "", "| test | rows | pairs | triples |", "|---|---:|---:|---:|"]
        lines += [f"| {name} | {rows} | {pairs} | {triples} |" for name, rows, pairs, triples in covering]
    if report.exceptions:
        lines += ["", "## Exceptions", "", "| clause | test | kind | reason |", "|---|---|---|---|"]
        lines += [f"| {o.clause} | {o.test or 'all'} | {o.kind} | {o.reason} {o.link} |" for o in report.exceptions]
    if report.notes:
        lines += ["", "## Findings that are no faults", "", "| kind | what |", "|---|---|"]
        lines += [f"| {one.kind} | {_cell(one.text)} |" for one in report.notes]
    skipped = _skipped(report)
    if skipped:
        lines += ["", "## Skipped", "", "| tests | reason |", "|---|---|"]
        lines += [f"| {tests} | {_cell(text)} |" for text, tests in skipped.items()]
    failed = [one for one in report.outcomes if one.verdict == "failed"]
    for one in failed:
        lines += ["", f"## {', '.join(one.clauses)}: {one.name}", "", "```", one.text.strip(), "```"]
    return "\n".join([*lines, *(["", *report.wrong] if report.wrong else []), ""])
