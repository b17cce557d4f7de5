"""Calls of array functions that cannot be carried out: which error they raise, on every backend the same."""

from functools import partial

import pytest

import simstrategy as ss
from simstrategy_conformance.calling import call, put
from simstrategy_conformance.calls import Case
from simstrategy_conformance.checking import clause, search
from simstrategy_conformance.mistaken import calls_of, mistakes_of
from simstrategy_conformance.subject import Subject

REFUSED = "test_a_wrong_call_raises_the_error_of_its_mistake"


def _is_refused(name: str, subject: Subject, case: Case) -> None:
    for mistaken in mistakes_of(name, case, subject.dtypes):
        given = put(subject, list(mistaken.arguments))
        try:
            found = call(subject, name, *given, **mistaken.options)
        except mistaken.error:
            continue
        except Exception as error:
            error.add_note(f"xp.{name} with {mistaken.what}: {mistaken.error.__name__} was expected")
            raise
        pytest.fail(f"xp.{name} with {mistaken.what} returned {found!r}: {mistaken.error.__name__} was expected")


@clause("B-22")
@pytest.mark.parametrize("function", ss.device.NAMES)
def test_a_wrong_call_raises_the_error_of_its_mistake(subject: Subject, function: str) -> None:
    compare = partial(_is_refused, function)
    search(subject, f"{REFUSED}/{function}", compare, {"case": calls_of(function)}, share=0.05, of=REFUSED)
