"""The subject that all tests of the clauses W get: one backend for the whole session."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from simstrategy.errors import SimStrategyError
from simstrategy_conformance.c10d.names import is_c10d
from simstrategy_conformance.c10d.subject import C10dSubject
from simstrategy_conformance.profiles import PROFILES


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves these clauses out of a session that examines another kind of backend, such as the simulator."""
    return None if is_c10d(config.getoption("--simstrategy-backend")) else True


def _subject_of(config: pytest.Config) -> C10dSubject:
    profile = PROFILES[config.getoption("--simstrategy-profile")]
    return C10dSubject(
        config.getoption("--simstrategy-backend"), profile=profile, seed=config.getoption("--simstrategy-seed")
    )


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Iterator[C10dSubject]:
    """The backend under examination, which the options of the session name."""
    found = _subject_of(request.config)
    yield found
    found.close()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Ends the session before its first test where no rank of the backend can be started."""
    if hasattr(session.config, "workerinput"):
        return  # a worker of pytest-xdist: the session that collects has looked
    try:
        found = _subject_of(session.config)
        try:
            found.require_usable()
        finally:
            found.close()
    except SimStrategyError as error:
        raise pytest.UsageError(f"{type(error).__name__}: {error}") from error
