"""The subject that all tests of the kit get: one backend for the whole session."""

from collections.abc import Iterator

import pytest

from simstrategy_conformance.session import subject_of
from simstrategy_conformance.subject import Subject


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The backend under examination, which the options of the session name."""
    found = subject_of(request.config)
    yield found
    found.close()
