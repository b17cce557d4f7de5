"""Starts the workers of the scenarios, once for each backend; skips a backend that is not installed."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstrategy.launch import Launcher

sys.path.insert(0, str(Path(__file__).parent))  # the importlib mode does not find a folder's other files
from scenarios import SUBJECTS, WORKERS


@pytest.fixture(scope="module", params=SUBJECTS)
def backend(request: pytest.FixtureRequest) -> str:
    """The name of each backend in turn."""
    name: str = request.param
    if importlib.util.find_spec(SUBJECTS[name].module) is None:
        pytest.skip(f"{SUBJECTS[name].module} is not installed")
    return name


@pytest.fixture(scope="module")
def launcher(backend: str) -> Iterator[Launcher]:
    """As many workers as scenarios take; they stay from test to test, unless the backend joins once only."""
    with Launcher(WORKERS, preload=[SUBJECTS[backend].module]) as opened:
        yield opened
