"""Numbers and arrays from which arrays are made: their dtypes, casts, and what is refused, on every backend.

# Clauses: B-18, B-21, B-22
"""

import numpy as np
import pytest
from on_backends import BACKENDS, opened, put

from simstrategy.errors import InvalidArgument, InvalidType

MATRIX = np.float32([[3, -2, 1], [1, 4, 2]])


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    return opened(request.param, 1)


def shown(backend, array):
    found = backend.get(array)
    return found.dtype.name, found.tolist()


def refused(backend, kind, name, *arguments, **options):
    """Returns the text of the error of a call, which has to be of one class."""
    with pytest.raises(kind) as caught:
        backend.get(getattr(backend.xp, name)(*arguments, **options))
    assert type(caught.value) is kind
    return str(caught.value)


def test_an_array_without_axes_fills_an_array_as_by_astype(backend):
    xp = backend.xp
    for number in (put(backend, np.float32(-2.5)), np.array(-2.5, np.float32)):
        assert shown(backend, xp.full((2,), number)) == ("float32", [-2.5, -2.5])
        assert shown(backend, xp.full((2,), number, dtype="int32")) == ("int32", [-2, -2])
        assert shown(backend, xp.full_like(put(backend, np.int8([1])), number)) == ("int8", [-2])
    assert shown(backend, xp.full(2, put(backend, np.float32(-2.5)), dtype="uint8")) == ("uint8", [0, 0])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1,)])
def test_an_array_with_axes_fills_nothing(backend, shape):
    for number in (np.ones(shape, np.float32), put(backend, np.ones(shape, np.float32))):
        for options in ({}, {"dtype": "int32"}):
            text = refused(backend, InvalidArgument, "full", (2, 3), number, **options)
            assert "fill_value is one number" in text
            text = refused(backend, InvalidArgument, "full_like", put(backend, MATRIX), number, **options)
            assert "fill_value is one number" in text


@pytest.mark.parametrize("dtype", ["int32", "int8", "float32", "float16", "bool"])
def test_arrays_without_axes_are_numbers_to_arange_and_linspace(backend, dtype):
    xp, one, three = backend.xp, put(backend, np.ones((), dtype)), put(backend, np.array(3).astype(dtype))
    size = 1 if dtype == "bool" else 3
    wanted = "float32" if dtype.startswith("float") else "int32"
    assert shown(backend, xp.arange(three)) == (wanted, list(range(size)))
    assert shown(backend, xp.arange(0, three, one, dtype="int8")) == ("int8", list(range(size)))
    assert shown(backend, xp.linspace(one, three, 2)) == ("float32", [1, size])


@pytest.mark.parametrize("place", ["host", "device"])
def test_arrays_with_axes_are_no_numbers_to_arange_and_linspace(backend, place):
    vector = np.float32([1, 2]) if place == "host" else put(backend, np.float32([1, 2]))
    for name, *arguments in (
        ("arange", vector),
        ("arange", 0, vector),
        ("linspace", vector, 2, 3),
        ("linspace", 0, vector, 3),
    ):
        assert "is one number" in refused(backend, InvalidType, name, *arguments)


@pytest.mark.parametrize(
    ("others", "wanted", "numbers"),
    [
        (("float32", 2.5), "float32", [1, 2.5]),
        (("float32", 2), "float32", [1, 2]),
        (("float16", 2.5), "float16", [1, 2.5]),
        (("int32", 2.5), "float32", [1, 2.5]),
        (("int8", 2), "int8", [1, 2]),
        (("bool", 2), "int32", [1, 2]),
        (("float32", 1j), "complex64", [1, 1j]),
        (("float16", "float32"), "float32", [1, 1]),
        (("float32", "int32"), "float32", [1, 1]),
        (("int32", "float32"), "float32", [1, 1]),
    ],
)
def test_a_list_that_begins_with_an_array_has_the_dtype_of_arrays_beside_numbers(backend, others, wanted, numbers):
    given = [put(backend, np.ones((), one)) if isinstance(one, str) else one for one in others]
    assert shown(backend, backend.xp.asarray(given)) == (wanted, numbers)
    assert shown(backend, backend.xp.stack(given)) == (wanted, numbers)


def test_an_element_of_an_array_and_a_number_make_an_array_of_its_dtype(backend):
    x = put(backend, MATRIX)
    assert shown(backend, backend.xp.asarray([x[0, 0], 2.5])) == ("float32", [3, 2.5])
    assert shown(backend, backend.xp.asarray([x[0], [1, 2, 3]])) == ("float32", [[3, -2, 1], [1, 2, 3]])


def test_numbers_that_the_dtype_of_a_list_does_not_hold_are_refused(backend):
    for first, number in ((np.int8(1), 300), (np.int32(1), 2**40), (np.float32(1), 1e300), (np.uint8(1), -1)):
        given = [put(backend, np.array(first)), number]
        text = refused(backend, InvalidArgument, "asarray", given)
        assert f"{first.dtype} holds numbers from" in text
    assert "Expected an array" in refused(backend, InvalidType, "asarray", [put(backend, np.float32(1)), "a"])


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_floats_beyond_the_range_of_integers_become_the_nearest_and_nan_zero(backend, source, dtype):
    xp, bounds = backend.xp, np.iinfo(dtype)
    large = 3e4 if source == "float16" and dtype != "int32" else np.inf
    numbers = np.float32([large, -large, np.inf, -np.inf, np.nan, 3.75, -3.75, 127, -1])
    x = xp.astype(put(backend, numbers), source)
    low = max(bounds.min, -3)
    wanted = [bounds.max, bounds.min, bounds.max, bounds.min, 0, 3, low, 127, max(bounds.min, -1)]
    assert shown(backend, xp.astype(x, dtype)) == (dtype, wanted)
    assert shown(backend, xp.asarray(x, dtype=dtype)) == (dtype, wanted)
    assert shown(backend, xp.asarray(numbers, dtype=dtype)) == (dtype, wanted)
    assert shown(backend, xp.astype(x[0], dtype)) == (dtype, bounds.max)
    assert shown(backend, xp.astype(x[:0], dtype)) == (dtype, [])


def test_integers_beyond_the_range_of_integers_wrap(backend):
    xp = backend.xp
    x = put(backend, np.int32([300, -1, 2**31 - 1]))
    assert shown(backend, xp.astype(x, "uint8")) == ("uint8", [44, 255, 255])
    assert shown(backend, xp.astype(300, "int8")) == ("int8", 44)
    assert shown(backend, xp.astype(-1.5, "int8")) == ("int8", -1)
    assert shown(backend, xp.astype([300, -1], "bool")) == ("bool", [True, True])
    refused(backend, InvalidArgument, "astype", x, None)
    refused(backend, InvalidArgument, "astype", 1e300, "float32")
