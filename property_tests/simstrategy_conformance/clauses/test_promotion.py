"""The dtypes of results: of arrays of several dtypes, of numbers beside arrays, and of functions of floats."""

import itertools

import numpy as np
import pytest

from simstrategy_conformance.arrays import NUMBERS, host_dtype
from simstrategy_conformance.calling import all_agree, call, check, put
from simstrategy_conformance.checking import clause
from simstrategy_conformance.promoting import (
    float_calls,
    host_calls,
    long_calls,
    mixed_calls,
    narrow_calls,
    number_calls,
)
from simstrategy_conformance.subject import Subject

ALL = (*NUMBERS, "bool")


@clause("B-21")
def test_arrays_of_two_dtypes_have_that_of_the_higher_kind(subject: Subject) -> None:
    dtypes = subject.having(*ALL)
    calls = itertools.chain(mixed_calls(dtypes), long_calls(dtypes))
    all_agree(subject, "test_arrays_of_two_dtypes_have_that_of_the_higher_kind", calls)


@clause("B-21")
def test_a_number_of_a_higher_kind_has_its_default_dtype(subject: Subject) -> None:
    calls = number_calls(subject.having(*ALL))
    all_agree(subject, "test_a_number_of_a_higher_kind_has_its_default_dtype", calls)


@clause("B-21")
def test_numbers_and_tuples_become_arrays_of_their_default_dtype(subject: Subject) -> None:
    calls = host_calls(subject.having(*ALL))
    all_agree(subject, "test_numbers_and_tuples_become_arrays_of_their_default_dtype", calls)


@clause("B-21")
def test_functions_of_floats_compute_integers_as_float32(subject: Subject) -> None:
    calls = float_calls(subject.having("float32", *ALL))
    all_agree(subject, "test_functions_of_floats_compute_integers_as_float32", calls)


@clause("B-21")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_narrow_floats_have_their_dtype(subject: Subject, dtype: str) -> None:
    subject.having(dtype)
    if host_dtype(dtype) is None:
        pytest.skip(f"NumPy has {dtype} where the package ml_dtypes is installed")
    # All numbers are exact, whatever they are computed in.
    x, y = np.array([[1, 2], [3, -0.5]], np.float32), np.array([[2, 0.25], [-1, 4]], np.float32)
    for one, other in ((x, y), (y, x)):
        narrow = [call(subject, "astype", put(subject, host), dtype) for host in (one, other)]
        products = (("matmul", one @ other), ("vecdot", np.sum(one * other, -1)), ("tensordot", one @ other))
        for name, wanted in products:
            found = call(subject, name, *narrow, **({"axes": 1} if name == "tensordot" else {}))
            assert subject.open(2).spec(found)[1] == dtype, f"{name} of {dtype}"
            check(subject, call(subject, "astype", found, "float32"), wanted)


@clause("B-19")
def test_many_numbers_of_float16_are_added_in_more_bits(subject: Subject) -> None:
    calls = narrow_calls(subject.having("float16"))
    all_agree(subject, "test_many_numbers_of_float16_are_added_in_more_bits", calls)
