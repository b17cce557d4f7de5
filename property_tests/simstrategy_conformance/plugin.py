"""The pytest plugin: options, markers, a `strategy` fixture for everyone, and reports for the kit's own tests.

pytest loads it in every session where the kit is installed, so it imports nothing but pytest; what the kit's tests
need is imported when the first of them runs.
"""

import faulthandler
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from simstrategy_conformance.session import Session

__all__ = ["session_of"]

_STDERR = pytest.StashKey[int]()
_REPLICAS = 2
"""Of the `strategy` fixture, where a test names no number."""
_LIMIT_MAX_S = 1e6
"""Up to twelve days: the timer of `faulthandler` takes no infinite time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("simstrategy", "conformance of simstrategy's backends")
    group.addoption("--simstrategy-backend", default="sim", metavar="NAME", help="a backend's name, or module:factory")
    profiles = ("quick", "default", "deep")
    group.addoption("--simstrategy-profile", default="default", choices=profiles, help="how many examples")
    group.addoption("--simstrategy-seed", default=0, type=int, metavar="N", help="what examples are drawn from")
    group.addoption("--simstrategy-clauses", metavar="LIST", help="only tests of these, such as B-8,R-2")
    group.addoption("--simstrategy-exceptions", metavar="FILE", help="in place of the backend's conformance.toml")
    group.addoption("--simstrategy-limit", type=float, metavar="S", help="ends the run where one test takes longer")
    group.addoption("--simstrategy-json", metavar="FILE", help="where to write the report as JSON")
    group.addoption("--simstrategy-markdown", metavar="FILE", help="where to write the report as Markdown")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "replicas(*counts): the numbers of replicas that the `strategy` fixture has")
    config.addinivalue_line("markers", "clause(*identifiers): the clauses that a test of the conformance kit examines")

    limit_s = config.getoption("--simstrategy-limit")
    if limit_s is not None:
        if not 0 < limit_s <= _LIMIT_MAX_S:
            raise pytest.UsageError(f"The limit of a test is {limit_s:g} s: give one above 0, up to {_LIMIT_MAX_S:g}.")
        config.stash[_STDERR] = os.dup(2)  # pytest keeps what tests print there
    for option in ("--simstrategy-json", "--simstrategy-markdown"):
        file = config.getoption(option)
        if file and not Path(file).absolute().parent.is_dir():
            raise pytest.UsageError(f"{option}: there is no folder to write {file} to.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("replicas")
    if marker is not None and "strategy" in metafunc.fixturenames:
        counts = marker.args
        if not counts or not all(isinstance(count, int) and count > 0 for count in counts):
            raise pytest.UsageError(f"@pytest.mark.replicas takes numbers such as (1, 2, 8), got {counts!r}.")
        metafunc.parametrize("strategy", counts, indirect=True, ids=[f"{count}-replicas" for count in counts])


@pytest.fixture
def strategy(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yields a mirrored strategy on the session's backend, with the replicas of `@pytest.mark.replicas`, default 2."""
    import simstrategy as ss  # noqa: PLC0415 - not before a test uses the fixture

    backend = ss.backend(
        request.config.getoption("--simstrategy-backend"), replicas=getattr(request, "param", _REPLICAS)
    )
    made = ss.Strategy.mirrored(backend)
    yield made
    made.close()
    backend.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    wanted = config.getoption("--simstrategy-clauses")
    if not wanted:
        return
    names = {name.strip() for name in wanted.split(",")}
    kept = [item for item in items if names & {name for mark in item.iter_markers("clause") for name in mark.args}]
    if not kept:
        raise pytest.UsageError(f"The kit has no tests of {wanted}: write clauses such as B-8,R-2.")
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def pytest_collection_finish(session: pytest.Session) -> None:
    # Its exceptions are read before a test runs. A worker of pytest-xdist reads them where it needs them.
    if "workerinput" not in vars(session.config) and any(one.get_closest_marker("clause") for one in session.items):
        session_of(session.config)


_KEY = pytest.StashKey["Session"]()


def session_of(config: pytest.Config) -> "Session":
    """Returns this session's `Session`, made when the first of the kit's tests runs."""
    if _KEY not in config.stash:
        from simstrategy_conformance.session import Session  # noqa: PLC0415 - the kit is not run in every session

        config.stash[_KEY] = Session(config)
    return config.stash[_KEY]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    of_the_kit = item.get_closest_marker("clause") is not None
    if of_the_kit and (call.when == "call" or call.excinfo is not None):
        session_of(item.config).describe(item)
        report = yield
        return session_of(item.config).judge(item, report) if call.when == "call" else report
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    limit_s = item.config.getoption("--simstrategy-limit")
    if limit_s is None or item.get_closest_marker("clause") is None:
        yield
        return
    # A framework may be in compiled code, and keep the interpreter from running anything of Python's.
    faulthandler.dump_traceback_later(limit_s, exit=True, file=item.config.stash[_STDERR])
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # Under xdist this is called in the session that collects, with what the workers have described.
    described = any(name == "clauses" for name, _ in report.user_properties)
    if _CONFIGS and described and (report.when == "call" or report.failed):
        session_of(_CONFIGS[-1]).add(report)


_ENDED_EARLY = pytest.StashKey[int]()
"""How many workers of pytest-xdist have ended with an error, and not in a test."""


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Takes what a worker of pytest-xdist states at its end, and that it has ended."""
    stash = node.config.stash
    stash[_ENDED_EARLY] = stash.get(_ENDED_EARLY, 0) + (error is not None)
    if _KEY in stash:
        stash[_KEY].take(vars(node).get("workeroutput", {}))


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport) -> None:
    """Describes the report of a test that a worker of pytest-xdist did not survive."""
    if _CONFIGS:
        _CONFIGS[-1].stash[_ENDED_EARLY] -= 1  # `pytest_testnodedown` has counted it
    if _CONFIGS and Path(__file__).parent in (_CONFIGS[-1].rootpath / crashitem.partition("::")[0]).parents:
        session_of(_CONFIGS[-1]).describe_crash(report)


_CONFIGS: list[pytest.Config] = []
"""The sessions that are running, the innermost last: a report does not name its session."""


def pytest_sessionstart(session: pytest.Session) -> None:
    _CONFIGS.append(session.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _CONFIGS.pop()
    stash = session.config.stash
    if _KEY in stash and stash[_KEY].finish(ended_early=stash.get(_ENDED_EARLY, 0) > 0):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if _KEY in config.stash:
        for line in session_of(config).lines():
            terminalreporter.write_line(line)
