"""Lets this folder's modules import each other: pytest's importlib mode does not."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest

from simstrategy_torch_distributed import running
from simstrategy_torch_distributed.checking import front
from simstrategy_torch_distributed.checking import servers as servers_of_checks
from simstrategy_torch_distributed.running import started, started_apart


class Kept:
    """A forkserver that stays: the runner's, whose end is left out."""

    def __init__(self, server):
        self.start, self.end, self.process = server.start, server.end, server.process
        self.folder = server.folder

    def close(self):
        """Leaves the forkserver to the session."""


@pytest.fixture(scope="session")
def server():
    """A forkserver that runs many scripts: each starts in moments."""
    one = started(front._IMPORTED)
    yield one
    one.close()


@pytest.fixture(scope="session")
def servers():
    """Forkservers for checks, whose ranks have other hashes of texts."""
    apart = started_apart(front._IMPORTED)
    yield apart
    for one in apart:
        one.close()


@pytest.fixture
def warm_checks(servers, monkeypatch):
    """Checks of this test run their scripts on forkservers of the session."""
    monkeypatch.setattr(servers_of_checks, "started_apart", lambda _modules: [Kept(one) for one in servers])


@pytest.fixture
def warm_runs(servers, monkeypatch):
    """Programs of this test that start forkservers of their own get those of the session."""
    monkeypatch.setattr(running, "started_apart", lambda _modules=(): [Kept(one) for one in servers])
