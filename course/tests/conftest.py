from pathlib import Path

import pytest

from simstrategy_course.observing import Limits, Runner

LIMITS = Limits(seconds=20.0)
"""Long, for a machine that does much else: no test waits for it."""


@pytest.fixture(scope="session")
def runner():
    with Runner(LIMITS) as made:
        yield made


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path
