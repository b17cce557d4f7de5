"""The subject that all tests of the kit get: one backend for the whole session."""

from typing import TYPE_CHECKING

import pytest

from simstrategy_conformance.plugin import session_of

if TYPE_CHECKING:
    from simstrategy_conformance.subject import Subject


@pytest.fixture(scope="session")
def subject(request: pytest.FixtureRequest) -> "Subject":
    """The backend under examination, which the options of the session name."""
    return session_of(request.config).subject()
