"""Every clause of the kit, at a few examples, on the backends of one process; CI's deep runs ask for more of each."""

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from shares import DEEP

from simstrategy.errors import BackendNotFound, BackendUnavailable, InvalidType
from simstrategy_conformance.exceptions import exceptions_of
from simstrategy_conformance.index import by_clause, entries
from simstrategy_conformance.profiles import Profile
from simstrategy_conformance.subject import Subject

EXAMPLES = {"torch": 8, "tensorflow": 8, "xla": 2}
"""Examples of each property: fewer where each form of an array is compiled."""


LONG = {("xla", "test_an_array_function_is_numpys")}
"""Tests that take half a minute: `ci/run.py deep cases` runs them."""


def examinations() -> Iterator[Any]:
    """Yields each backend with the name of each test that it claims to pass, as parameters."""
    for turn, backend in enumerate(EXAMPLES):
        excepted = exceptions_of(backend, by_clause())
        for number, entry in enumerate(entries()):
            if not any(one.covers(entry.clauses, entry.name) for one in excepted):
                late = (backend, entry.name) in LONG or (number + turn) % 3
                yield pytest.param(backend, entry.name, marks=DEEP if late else ())


def test_nothing_is_accused_where_numpy_has_no_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    of_dtype = {entry.name: entry for entry in entries()}
    for name, options in (
        ("test_products_of_narrow_floats_have_their_dtype", {"dtype": "bfloat16"}),
        ("test_every_claimed_dtype_can_be_put", {}),
    ):
        with pytest.raises(pytest.skip.Exception, match="where the package ml_dtypes is installed"):
            of_dtype[name].test(Subject("sim"), **options)


ROWS = {"xla": 8, "tensorflow": 24}
"""Covering rows of each test, where not all are tried."""


def _few(backend: str) -> Profile:
    return Profile("few", EXAMPLES[backend], replicas_max=4, triples=False, rows_max=ROWS.get(backend))


@pytest.fixture(scope="module")
def subjects() -> Iterator[Callable[[str], Subject]]:
    """Returns the subject of a backend, which is opened once."""
    opened: dict[str, Subject] = {}

    def subject_of(backend: str) -> Subject:
        if backend not in opened:
            opened[backend] = Subject(backend, profile=_few(backend))
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


ROUNDED = ("float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("backend", ["torch", "tensorflow"])
def test_a_sum_that_rounds_is_the_simulators_to_the_bit(
    subjects: Callable[[str], Subject], backend: str, dtype: str
) -> None:
    """Both add in rank order, which is more than the contract demands."""
    numbers = np.random.default_rng(0).normal(size=(3, 5, 37, 3)) * 100
    for arrays in numbers.astype(dtype):
        results = []
        for opened in (subjects(backend).open(5), subjects(backend).simulator().open(5)):
            given = tuple(opened.put(array, device) for array, device in zip(arrays, opened.devices, strict=True))
            found = [opened.get(one) for one in (*opened.all_reduce(given, "SUM"), opened.reduce(given, "SUM", root=3))]
            assert len({one.tobytes() for one in found}) == 1
            results.append(found[0])
        assert results[0].dtype == results[1].dtype
        assert results[0].tobytes() == results[1].tobytes()


@pytest.mark.parametrize("backend", EXAMPLES)
def test_a_list_is_no_array_to_put(subjects: Callable[[str], Subject], backend: str) -> None:
    opened = subjects(backend).open(1)
    with pytest.raises(InvalidType, match="got a list"):
        opened.put([1.0], opened.devices[0])


@pytest.mark.parametrize(("backend", "name"), list(examinations()))
def test_a_backend_keeps_a_clause_of_the_kit(subjects: Callable[[str], Subject], backend: str, name: str) -> None:
    (entry,) = (one for one in entries() if one.name == name)
    for settings in entry.settings:
        entry.test(subjects(backend), **settings)
