"""Every clause of the kit, at a few examples, on the backends of one process; CI's deep runs ask for more of each."""

import warnings
from collections.abc import Callable, Iterator

import pytest

from simstrategy.errors import BackendNotFound, BackendUnavailable
from simstrategy_conformance.exceptions import exceptions_of
from simstrategy_conformance.index import by_clause, entries
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.subject import Subject

EXAMPLES = {"torch": 8, "tensorflow": 8, "xla": 2}
"""Examples of each property: fewer where each form of an array is compiled."""


def examinations() -> Iterator[tuple[str, str]]:
    """Yields each backend with the name of each test that it claims to pass."""
    for backend in EXAMPLES:
        excepted = exceptions_of(backend, by_clause())
        for entry in entries():
            if not any(one.covers(entry.clauses, entry.name) for one in excepted):
                yield backend, entry.name


@pytest.fixture(scope="module")
def subjects() -> Iterator[Callable[[str], Subject]]:
    """Returns the subject of a backend, which is opened once."""
    opened: dict[str, Subject] = {}

    def subject_of(backend: str) -> Subject:
        if backend not in opened:
            opened[backend] = Subject(backend, profile=Profile("few", EXAMPLES[backend], replicas_max=4))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # those of a framework that is imported for the first time
                    opened[backend].open(1)
            except (BackendNotFound, BackendUnavailable) as error:
                pytest.skip(str(error))
        return opened[backend]

    yield subject_of
    for subject in opened.values():
        subject.close()


@pytest.mark.parametrize(("backend", "name"), list(examinations()))
def test_a_backend_keeps_a_clause_of_the_kit(subjects: Callable[[str], Subject], backend: str, name: str) -> None:
    (entry,) = (one for one in entries() if one.name == name)
    for settings in entry.settings:
        entry.test(subjects(backend), **settings)
