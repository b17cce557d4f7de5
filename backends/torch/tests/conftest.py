"""Lets this folder's modules import each other, which pytest's importlib mode does not, and launches their workers."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simstrategy.launch import Launcher

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """As many workers as the module's WORKERS says; they stay from test to test."""
    with Launcher(request.module.WORKERS, preload=["simstrategy_torch"]) as opened:
        yield opened
