"""Runs the body of a test on every simulated rank of `torch.distributed`, each a process of its own.

A forkserver that has imported torch stays for the session, so a test's ranks start in moments.
"""

import base64
import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, final

import pytest
from _pytest.assertion.rewrite import AssertionRewritingHook

from simstrategy.launch.server import Server
from simstrategy_torch_distributed.preloading import modules_of_torch
from simstrategy_torch_distributed.report import Report
from simstrategy_torch_distributed.running import Function, Settings, run_on, started
from simstrategy_torch_distributed.spawning import First, Spawning, simulate_spawned

__all__ = ["Forkservers", "Spawning", "call_on_ranks", "simulate", "unusable"]

_TARGET: Final = "simstrategy_pytest.in_rank:call_test"
_FIRST: Final = "simstrategy_pytest.in_rank:import_from"
_LINES_MAX: Final = 60
_NOT_SHARED: Final = "torch.testing._internal"
"""Modules that each spawned process imports alone: they read arguments and the environment, and freeze flags."""


def unusable(item: Any) -> str | None:
    """Returns why a test cannot run on simulated ranks, as a sentence; None where it can.  item: its definition."""
    if item.cls is not None:
        return "is a method, and simulated ranks call functions: make it a function at the top level of its file"
    if vars(item.obj).get("hypothesis") is not None:
        return "draws its values by Hypothesis, which simulated ranks cannot share: draw them inside, from a seed"
    if not modules_of_torch(str(item.path)):
        return (
            "has no parameter `world`, and its file imports no torch: add the parameter to run on the replicas of a "
            "strategy, or import torch.distributed to run on simulated ranks"
        )
    return None


@final
class Forkservers:
    """The forkservers of a session's ranks: one, and more only for runs at the same time.  Call `close` at the end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[Server] = []
        self._started: list[Server] = []

    @contextmanager
    def one(self, file: str) -> Iterator[Server]:
        """Returns a context with a forkserver for one run; file: of the test, whose imports a new one makes."""
        with self._lock:
            server = self._free.pop() if self._free else None
        if server is None:
            server = self.start(modules_of_torch(file))
        try:
            yield server
        finally:
            self._free.append(server)

    def start(self, modules: Sequence[str]) -> Server:
        """Starts a forkserver that stays with its user; modules: what it imports."""
        server = started(["simstrategy_pytest.in_rank", *modules])
        self._started.append(server)
        return server

    def close(self) -> None:
        """Ends all processes of all runs."""
        for server in self._started:
            server.close()


def call_on_ranks(item: pytest.Function, servers: Forkservers, count: int, values: dict[str, Any]) -> None:
    """Calls the test's function on `count` ranks; fails with what the run found, or skips if all ranks do.

    values: what the test receives, by the names of its parameters.
    """
    test = {
        "module": item.module.__name__,
        "files": {item.module.__name__: str(item.path), **_rewritten()},
        "name": item.function.__name__,
        "path": sys.path,
        "values": {name: _pickled(name, value) for name, value in values.items()},
    }
    function = Function(_TARGET, base64.b64encode(pickle.dumps(test)).decode())
    with servers.one(str(item.path)) as server:
        report = run_on([server], Settings(str(item.path), ranks=count, tee=True, function=function))
    if report.findings:
        pytest.fail(_failure(report), pytrace=False)
    if all(one.text.startswith("skipped: ") for one in report.ranks):
        pytest.skip(report.ranks[0].text.removeprefix("skipped: "))


def simulate(servers: Forkservers) -> Spawning:
    """Makes what the session's tests spawn, in whatever way, processes that may become simulated ranks."""
    made: list[Server] = []

    def server() -> Server:
        if not made:
            made.append(servers.start(_torch_modules()))
        return made[0]

    spawning = Spawning(server, Settings(__file__), First(_FIRST, _rewritten))
    simulate_spawned(spawning)
    return spawning


def _torch_modules() -> list[str]:
    """Returns the modules of torch that the tests of this session have imported, in that order."""
    return [name for name in sys.modules if name.startswith("torch.") and not name.startswith(_NOT_SHARED)]


def _rewritten() -> dict[str, str]:
    """Returns the files of the modules that pytest has imported with rewritten assertions, as it does with tests."""
    specs = {name: vars(one).get("__spec__") for name, one in list(sys.modules.items()) if isinstance(one, ModuleType)}
    return {
        name: spec.origin
        for name, spec in specs.items()
        if spec is not None and spec.origin is not None and isinstance(spec.loader, AssertionRewritingHook)
    }


def _pickled(name: str, value: Any) -> bytes:
    try:
        return pickle.dumps(value)
    except Exception as error:  # noqa: BLE001 - an object of the user's may raise anything
        problem = error
    pytest.fail(
        f"The value of {name!r} cannot be sent to simulated ranks: {problem}. Pass numbers, texts, arrays and other "
        f"plain values; make the rest inside of the test.",
        pytrace=False,
    )


def _failure(report: Report) -> str:
    """Returns the text of a failed run: the findings, and what the rank that failed first has printed at the end."""
    parts = [one.text for one in report.findings]
    if report.failed is not None:
        lines = report.ranks[report.failed].output.splitlines()[-_LINES_MAX:]
        parts.append("\n".join([f"Rank {report.failed} printed, at the end:", *lines]))
    return "\n\n".join(parts)
