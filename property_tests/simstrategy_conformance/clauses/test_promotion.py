"""The dtypes of results: of arrays of several dtypes, of numbers beside arrays, and of functions of floats."""

from collections.abc import Iterable

import numpy as np

from simstrategy_conformance.arrays import NUMBERS
from simstrategy_conformance.calling import agrees
from simstrategy_conformance.calls import Case
from simstrategy_conformance.checking import clause, counted
from simstrategy_conformance.promoting import float_calls, mixed_calls, narrow_calls, number_calls
from simstrategy_conformance.subject import Subject

ALL = (*NUMBERS, "bool")


def all_agree(subject: Subject, test: str, calls: Iterable[tuple[str, Case]]) -> None:
    """Fails with the first call whose result is not the expected one."""
    with np.errstate(all="ignore"):  # some are about infinity
        tried = list(calls)
        most = subject.profile.rows_max or len(tried)
        for name, case in tried[:: max(1, len(tried) // most)]:
            counted.examples[test] = counted.examples.get(test, 0) + 1
            try:
                agrees(subject, name, case)
            except Exception as error:
                error.add_note(f"of {name}({', '.join(map(_form, case.arguments))}, {case.options})")
                raise


def _form(argument: object) -> str:
    return f"{argument.dtype.name}{list(argument.shape)}" if isinstance(argument, np.ndarray) else repr(argument)


@clause("B-21")
def test_arrays_of_two_dtypes_have_that_of_the_higher_kind(subject: Subject) -> None:
    calls = mixed_calls(subject.having(*ALL))
    all_agree(subject, "test_arrays_of_two_dtypes_have_that_of_the_higher_kind", calls)


@clause("B-21")
def test_a_number_of_a_higher_kind_has_its_default_dtype(subject: Subject) -> None:
    calls = number_calls(subject.having(*ALL))
    all_agree(subject, "test_a_number_of_a_higher_kind_has_its_default_dtype", calls)


@clause("B-21")
def test_functions_of_floats_compute_integers_as_float32(subject: Subject) -> None:
    calls = float_calls(subject.having("float32", *ALL))
    all_agree(subject, "test_functions_of_floats_compute_integers_as_float32", calls)


@clause("B-19")
def test_many_numbers_of_float16_are_added_in_more_bits(subject: Subject) -> None:
    calls = narrow_calls(subject.having("float16"))
    all_agree(subject, "test_many_numbers_of_float16_are_added_in_more_bits", calls)
