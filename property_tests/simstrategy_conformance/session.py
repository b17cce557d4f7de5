"""One run of the kit under pytest: its subject, the outcome of each test, and whether exceptions still hold."""

import faulthandler
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from simstrategy.errors import SimStrategyError
from simstrategy.short_repr import without_addresses
from simstrategy_conformance.exceptions import exceptions_of, left_out
from simstrategy_conformance.index import by_clause
from simstrategy_conformance.profiles import PROFILES
from simstrategy_conformance.reports import Note, Outcome, Report, json_text, markdown_text, table_lines
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.tally import Covered, counted, covered, noted

__all__ = ["Session"]

_UNCLOSED: Final = "simstrategy_unclosed"
_CLOSES_S: Final = 120.0
"""After which the stacks are written of a session that closes what its tests have opened."""


class Session:
    """The subject and the outcomes of the kit's tests in a session of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._backend: str = config.getoption("--simstrategy-backend")
        self._subject: Subject | None = None
        self._outcomes: list[Outcome] = []
        self._words: dict[str, int] = {}
        self._wrong: list[str] = []
        self._notes: list[Note] = []
        self._known = by_clause(self._backend)
        # A worker of pytest-xdist has a part of the outcomes: the session that collects them all reports.
        self._collects = not hasattr(config, "workerinput")
        given, profile = config.getoption("--simstrategy-exceptions"), config.getoption("--simstrategy-profile")
        file = None if given is None else Path(given)
        try:
            self._exceptions = exceptions_of(self._backend, self._known, file, profile=profile)
            self._left_out = left_out(self._backend, self._known, file, profile=profile)
        except SimStrategyError as error:
            raise pytest.UsageError(str(error)) from error

    # Where a test runs.

    def subject(self) -> Subject:
        """Returns the subject that the options name; it is closed when the session has finished."""
        if self._subject is None:
            profile = PROFILES[self._config.getoption("--simstrategy-profile")]
            seed: int = self._config.getoption("--simstrategy-seed")
            self._subject = Subject(self._backend, profile=profile, seed=seed)
        return self._subject

    def describe(self, item: pytest.Item) -> None:
        """Adds to a test's report what the collecting session needs: clauses, examples, constructs."""
        name = _name_of(item)
        item.user_properties.append(("clauses", " ".join(_clauses_of(item))))
        item.user_properties.append(("examples", counted.examples.pop(name, 1)))
        for word, times in counted.words.pop(name, {}).items():
            item.user_properties.append((f"construct {word}", times))
        if name in covered:
            item.user_properties.append(("covered", covered.pop(name)._asdict()))
        if name in noted:
            item.user_properties.append(("notes", noted.pop(name)))

    def judge(self, item: pytest.Item, report: pytest.TestReport) -> pytest.TestReport:
        """Turns the failure of an excepted test into an expected failure."""
        self._except(report, _clauses_of(item), item.name)
        return report

    def close(self) -> None:
        """Closes what the tests have opened.  An error of it is no test's: the session states it."""
        if self._subject is None:
            return
        limit_s = self._config.getoption("--simstrategy-limit")
        faulthandler.dump_traceback_later(limit_s or _CLOSES_S, exit=limit_s is not None, file=sys.__stderr__ or 2)
        try:
            self._subject.close()
        except Exception as error:  # noqa: BLE001 - whatever a backend raises
            shown = without_addresses("".join(traceback.format_exception(error)))
            text = f"B-16: closing what the tests have opened raised {type(error).__name__}.\n{shown}"
            if not self._collects:
                vars(self._config)["workeroutput"][_UNCLOSED] = text
            self._wrong.append(text)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _except(self, report: pytest.TestReport, clauses: tuple[str, ...], name: str) -> None:
        excepted = next((one for one in self._exceptions if one.covers(clauses, name)), None)
        if excepted is not None and report.failed:
            report.outcome = "skipped"
            vars(report)["wasxfail"] = f"reason: {excepted}"

    # Where reports are collected.

    def describe_crash(self, report: pytest.TestReport) -> None:
        """Makes the report of a test whose process ended that of a failure, with the test's clauses."""
        name = report.nodeid.rpartition("::")[2]
        clauses = tuple(one for one, tests in self._known.items() if name.partition(_PARAMETERS)[0] in tests)
        report.user_properties += [("clauses", " ".join(clauses)), ("examples", 0)]
        limit_s = self._config.getoption("--simstrategy-limit")
        late = f"it took longer than {limit_s:g} s, or " if limit_s is not None else ""
        text = f"The process of this test ended: {late}the backend or the system ended it. See what it wrote."
        report.longrepr, report.when = text, "call"
        self._except(report, clauses, name)

    def add(self, report: pytest.TestReport) -> None:
        """Takes the report of one test."""
        properties: dict[str, Any] = dict(report.user_properties)
        name = report.nodeid.rpartition("::")[2]
        verdict = "excepted" if "wasxfail" in vars(report) else report.outcome
        # An address is another one in each process.
        text = without_addresses(str(report.longrepr)) if report.failed else _why_skipped(report)
        clauses = tuple(properties["clauses"].split())
        rows = Covered(**properties["covered"]) if "covered" in properties else None
        self._outcomes.append(Outcome(name, clauses, verdict, int(properties["examples"]), report.duration, text, rows))
        self._notes += [Note(*one) for one in properties.get("notes", ())]
        for word, times in properties.items():
            if word.startswith("construct "):
                self._words[word[10:]] = self._words.get(word[10:], 0) + int(times)

    def take(self, stated: Mapping[str, Any]) -> None:
        """Takes what a process that ran tests has sent at its end."""
        text = stated.get(_UNCLOSED)
        if text is not None and text not in self._wrong:
            self._wrong.append(text)

    def finish(self, *, ended_early: bool) -> bool:
        """Judges the exceptions and writes the files; returns whether something is wrong that no test reports.

        ended_early: whether a process has ended with an error, and not in a test.
        """
        self.close()
        if ended_early:
            self._wrong.append(_ENDED)
        for one in self._exceptions:
            covered = [found for found in self._outcomes if one.covers(found.clauses, found.name)]
            if covered and all(found.verdict != "excepted" for found in covered):
                self._wrong.append(f"{one.clause} is excepted and passes: take the exception out. {one}")
            test, _, case = one.test.partition(_PARAMETERS)
            cases = [found.name for found in self._outcomes if case and found.name.partition(_PARAMETERS)[0] == test]
            if cases and not covered and self._collects:
                self._wrong.append(f"{test} has no case [{case}; it has {', '.join(cases)}. {one}")
        if self._collects:
            for option, write in (("--simstrategy-json", json_text), ("--simstrategy-markdown", markdown_text)):
                if self._config.getoption(option):
                    Path(self._config.getoption(option)).write_text(write(self.report()), encoding="utf-8")
        return bool(self._wrong) and self._collects

    def report(self) -> Report:
        """Returns the report of the tests that have run."""
        return Report(
            backend=self._backend,
            profile=self._config.getoption("--simstrategy-profile"),
            seed=self._config.getoption("--simstrategy-seed"),
            outcomes=tuple(sorted(self._outcomes, key=lambda one: one.name)),
            exceptions=self._exceptions,
            wrong=tuple(self._wrong),
            words=self._words,
            notes=tuple(sorted(self._notes)),
            known=self._known,
            file=self._config.getoption("--simstrategy-exceptions") or "",
            left_out=self._left_out,
        )

    def lines(self) -> list[str]:
        """Returns the table for the terminal."""
        return table_lines(self.report())


_PARAMETERS: Final = "["
_ENDED: Final = (
    "A process ended outside of tests, such as where it closes what they have opened (B-16): the backend or the system "
    "ended it. See what it wrote."
)


def _why_skipped(report: pytest.TestReport) -> str:
    """Returns the reason of a test that was skipped; "" for any other."""
    if isinstance(report.longrepr, tuple) and "wasxfail" not in vars(report):
        return without_addresses(report.longrepr[2].removeprefix("Skipped: "))
    return ""


def _name_of(item: pytest.Item) -> str:
    return item.name.partition(_PARAMETERS)[0]


def _clauses_of(item: pytest.Item) -> tuple[str, ...]:
    return tuple(one for mark in item.iter_markers("clause") for one in mark.args)
