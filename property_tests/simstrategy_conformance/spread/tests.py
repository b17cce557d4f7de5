"""A pytest plugin, `-p simstrategy_conformance.spread.tests --simstrategy-on ray`: the kit's tests as tasks.

Each runs in a session of pytest of its own, and its reports come back. The session that collects takes them as if it
had run the tests, so that what it writes is the same.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, final

import pytest

from simstrategy_conformance.spread.places import spread_over
from simstrategy_conformance.spread.tasks import Lost, results

__all__: list[str] = []

_KIT: Final = "simstrategy_conformance"


class _Test(NamedTuple):
    """One test.  node: its identifier, from the folder of the kit. options: of pytest.

    exceptions: the text of the file that the option names, None for none. paths: where modules are, such as that of a
    backend.
    """

    node: str
    options: tuple[str, ...]
    exceptions: str | None
    paths: tuple[str, ...]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("simstrategy")
    group.addoption("--simstrategy-on", default="here", metavar="PLACE", help="where the kit's tests run: here, ray")


def pytest_runtestloop(session: pytest.Session) -> bool | None:
    place = session.config.getoption("--simstrategy-on")
    if place == "here" or session.config.option.collectonly:
        return None
    _run_on(place, session)
    return True


def _run_on(place: str, session: pytest.Session) -> None:
    """Runs a session's tests on a place of `spread_over`, and logs their reports in the order of the tests.

    Raises UsageError for a test that is not the kit's: nodes have no other tests.
    """
    config = session.config
    others = [item.nodeid for item in session.items if item.get_closest_marker("clause") is None]
    if others:
        raise pytest.UsageError(f"--simstrategy-on runs tests of the kit, and {others[0]} is none of them.")
    file = config.getoption("--simstrategy-exceptions")
    options = tuple(f"--simstrategy-{name}={config.getoption(f'--simstrategy-{name}')}" for name in _OPTIONS)
    exceptions = None if file is None else Path(file).read_text("utf-8")
    tests = [_Test(item.nodeid, options, exceptions, (str(Path.cwd()),)) for item in session.items]
    hook = config.hook
    with spread_over(place) as spread:
        for item, found in zip(session.items, results(spread, _reports_of, tests), strict=True):
            hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for data in [_lost(item, found)] if isinstance(found, Lost) else found:
                report = hook.pytest_report_from_serializable(config=config, data=data)
                hook.pytest_runtest_logreport(report=report)
            hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


_OPTIONS: Final = ("backend", "profile", "seed")


def _lost(item: pytest.Item, lost: Lost) -> dict[str, Any]:
    """Returns the report of a test that has none of its own, as a failure."""
    clauses = " ".join(one for mark in item.iter_markers("clause") for one in mark.args)
    properties = [("clauses", clauses), ("examples", 0)]
    report = pytest.TestReport(
        item.nodeid, item.location, {}, "failed", lost.text, "call", user_properties=properties, duration=0.0
    )
    data: dict[str, Any] = item.config.hook.pytest_report_to_serializable(config=item.config, report=report)
    return data


@final
class _Reports:
    """A plugin that keeps the reports of its session."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []
        self._config: pytest.Config | None = None

    def pytest_configure(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        assert self._config is not None
        self.found.append(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _reports_of(test: _Test) -> Sequence[dict[str, Any]]:
    """Runs one test in this process and returns its reports."""
    sys.path[:0] = [path for path in test.paths if path not in sys.path and Path(path).is_dir()]
    package = import_module(_KIT).__file__
    assert package is not None
    folder, kept = Path(package).parent, _Reports()
    arguments = [str(folder / test.node), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder), "-q"]
    with TemporaryDirectory() as scratch, Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        if test.exceptions is not None:
            file = Path(scratch) / "conformance.toml"
            file.write_text(test.exceptions, "utf-8")
            arguments.append(f"--simstrategy-exceptions={file}")
        with redirect_stdout(nowhere):
            code = pytest.main([*arguments, *test.options, "-p", "no:cacheprovider"], plugins=[kept])
    if not kept.found:
        raise RuntimeError(f"{test.node} has no report: pytest ended with {code!r}.")
    return kept.found
