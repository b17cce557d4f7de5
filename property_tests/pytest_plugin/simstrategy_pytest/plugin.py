"""The pytest plugin: the fixture `make_strategy`, the marker `world_size`, and failures that open with the report.

pytest loads it in every session where it is installed, so it imports nothing but pytest; what a test needs is imported
when the first one needs it.
"""

import importlib.util
import inspect
import sys
from collections.abc import Callable, Generator
from typing import Any

import pytest

__all__: list[str] = []

_WORLD = "world"
"""The parameter of a test that runs on every replica."""

_RANKS = "simulated_ranks"
"""The parameter, of no test's function, that has the number of ranks of a test without `world`."""

_SERVERS = pytest.StashKey[list[Any]]()
"""The forkservers of simulated ranks, once a test has needed them."""

_SPAWNING = pytest.StashKey[list[Any]]()
"""With --simulated-ranks, what starts the processes that tests spawn."""

_MADE = pytest.StashKey[list[Any]]()
"""The strategies that the current test has opened."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("simstrategy").addoption(
        "--simulated-ranks",
        action="store_true",
        help="processes that tests spawn, by torch.multiprocessing, MultiProcessTestCase or a launcher, are simulated "
        "ranks",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "world_size(*counts): runs the body of the test on every replica, once with each number of replicas; its "
        "parameter `world` has rank, size and context. A test without that parameter, in a file that imports torch, "
        "runs on every simulated rank of torch.distributed",
    )
    config.stash[_MADE] = []
    config.stash[_SERVERS] = []
    config.stash[_SPAWNING] = []
    if config.getoption("--simulated-ranks"):
        _simulate_spawned(config)


def _simulate_spawned(config: pytest.Config) -> None:
    if importlib.util.find_spec("simstrategy_torch_distributed") is None:
        raise pytest.UsageError("--simulated-ranks needs simstrategy-torch-distributed: install it.")
    from simstrategy_pytest.ranks import simulate  # noqa: PLC0415 - torch costs every start

    config.stash[_SPAWNING].append(simulate(_forkservers(config)))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Starts the process that simulated ranks are forked from, when the tests' files are imported."""
    for spawning in session.config.stash[_SPAWNING]:
        if "torch.distributed" in sys.modules and session.items:
            spawning.prepare()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for spawning in config.stash[_SPAWNING]:
        terminalreporter.write_line(f"simulated ranks: {spawning.ranks}, of {spawning.started} spawned processes")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    result = yield
    _raise_found(item.config)
    return result


def _raise_found(config: pytest.Config) -> None:
    """Fails the test for what the ranks that it has spawned show, where none of them has failed for it."""
    for spawning in config.stash[_SPAWNING]:
        if found := spawning.findings():
            pytest.fail("\n\n".join(found), pytrace=False)


def pytest_unconfigure(config: pytest.Config) -> None:
    for servers in config.stash[_SERVERS]:
        servers.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("world_size")
    if marker is None:
        return
    counts = marker.args
    if not counts or marker.kwargs or not all(type(count) is int and count > 0 for count in counts):
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: @pytest.mark.world_size takes numbers of replicas such as (1, 2, 4), got "
            f"{counts!r}."
        )
    if _WORLD in metafunc.fixturenames:
        metafunc.parametrize(_WORLD, counts, ids=[_counted(count, "replica") for count in counts])
        return
    problem = _unusable_on_ranks(metafunc.definition)
    if problem is not None:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid} with @pytest.mark.world_size {problem}.")
    metafunc.fixturenames.append(_RANKS)
    metafunc.parametrize(_RANKS, counts, ids=[_counted(count, "rank") for count in counts])


def _counted(count: int, noun: str) -> str:
    return f"1-{noun}" if count == 1 else f"{count}-{noun}s"


def _unusable_on_ranks(definition: Any) -> str | None:
    """Returns why a test without `world` cannot run on simulated ranks; None where it can."""
    if importlib.util.find_spec("simstrategy_torch_distributed") is None:
        return (
            f"has no parameter `{_WORLD}`: add it; or, for a test of torch.distributed on simulated ranks, install "
            f"simstrategy-torch-distributed"
        )
    from simstrategy_pytest.ranks import unusable  # noqa: PLC0415 - few tests need it

    return unusable(definition)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if pyfuncitem.get_closest_marker("world_size") is None:
        return None
    __tracebackhide__ = True
    if _RANKS in pyfuncitem.callspec.params:
        _call_on_ranks(pyfuncitem)
        return True
    from simstrategy_pytest.replicas import call_on_replicas  # noqa: PLC0415 - few tests need it

    call_on_replicas(pyfuncitem, _WORLD)
    return True


def _call_on_ranks(item: pytest.Function) -> None:
    from simstrategy_pytest.ranks import call_on_ranks  # noqa: PLC0415 - few tests need it

    names = inspect.signature(item.obj).parameters
    values = {name: item.funcargs[name] for name in names if name in item.funcargs}
    call_on_ranks(item, _forkservers(item.config), int(str(item.callspec.params[_RANKS])), values)


def _forkservers(config: pytest.Config) -> Any:
    """Returns the forkservers of the session's simulated ranks."""
    from simstrategy_pytest.ranks import Forkservers  # noqa: PLC0415 - few tests need it

    if not config.stash[_SERVERS]:
        config.stash[_SERVERS].append(Forkservers())
    return config.stash[_SERVERS][0]


# Of the session, not of the function: Hypothesis refuses fixtures of the function, which one test has once for all of
# its examples. What it made is closed at the end of each test, below.
@pytest.fixture(scope="session")
def make_strategy(pytestconfig: pytest.Config) -> Callable[..., Any]:
    """Returns a function that opens a strategy: ``make_strategy(replicas=2, backend="sim", **settings)``.

    settings: those of `Strategy.mirrored`. Every strategy is closed at the end of the test that opened it.
    """
    made = pytestconfig.stash[_MADE]

    def make(replicas: int = 2, backend: Any = "sim", **settings: Any) -> Any:
        from simstrategy import Strategy  # noqa: PLC0415 - not before a test uses the fixture

        strategy = Strategy.mirrored(backend, replicas=replicas, **settings)
        made.append(strategy)
        return strategy

    return make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    try:
        result = yield
        _raise_found(item.config)  # of ranks that a class has for all of its tests
        return result
    finally:
        _close(item.config.stash[_MADE])


def _close(made: list[Any]) -> None:
    """Closes all strategies, the last one first; raises the errors of those that could not be closed."""
    errors = []
    while made:
        try:
            made.pop().close()
        except Exception as error:  # noqa: BLE001 - the others are closed all the same
            errors.append(error)
    if errors:
        raise ExceptionGroup("Strategies that the test opened could not be closed.", errors)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if call.excinfo is not None and report.failed and "simstrategy.errors" in sys.modules:
        from simstrategy_pytest.failures import shown  # noqa: PLC0415 - not before a test fails

        found = shown(item, call.excinfo)
        report.longrepr = report.longrepr if found is None else found
    return report
