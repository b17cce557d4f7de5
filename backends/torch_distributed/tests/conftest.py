"""Lets this folder's modules import each other: pytest's importlib mode does not."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import pytest

from simstrategy_torch_distributed.running import started


@pytest.fixture(scope="session")
def server():
    """A forkserver that runs many scripts: each starts in moments."""
    one = started()
    yield one
    one.close()
