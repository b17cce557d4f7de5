"""Settings of array functions that Python, NumPy and each framework take otherwise are taken or refused alike.

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


def refused(backend, kind, name, *arguments, **options):
    """Returns the text of the error of a call, which has to be of one class."""
    with pytest.raises(kind) as caught:
        backend.get(getattr(backend.xp, name)(*arguments, **options))
    assert type(caught.value) is kind
    assert str(caught.value).startswith(f"xp.{name}(")
    return str(caught.value)


def refused_as(backend, name, *arguments, **options):
    """A call that has to raise InvalidType, in the text of whichever function refuses it."""
    with pytest.raises(InvalidType):
        getattr(backend.xp, name)(*arguments, **options)


@pytest.mark.parametrize("shape", [True, False, (True, 2), (2, False), [True], np.True_, (np.True_, 2)])
def test_a_bool_is_no_size(backend, shape):
    x = put(backend, MATRIX)
    calls = [("zeros", shape), ("ones", shape), ("full", shape, 1), ("reshape", x, shape), ("broadcast_to", x, shape)]
    for name, *arguments in calls:
        assert "shape is one integer or several, and no bool" in refused(backend, InvalidType, name, *arguments)


@pytest.mark.parametrize("name", ["n_rows", "n_cols", "k", "num", "axis", "axes", "shift", "n", "repetitions"])
def test_a_bool_is_no_count_and_no_axis(backend, name):
    x = put(backend, MATRIX)
    for flag in (True, np.False_):
        calls = {
            "n_rows": [("eye", (flag,), {})],
            "n_cols": [("eye", (2, flag), {})],
            "k": [("eye", (2,), {"k": flag}), ("tril", (x,), {"k": flag}), ("triu", (x,), {"k": flag})],
            "num": [("linspace", (0, 1, flag), {})],
            "axis": [
                (one, (x,), {"axis": flag}) for one in ("sum", "argmax", "sort", "flip", "expand_dims", "unstack")
            ],
            "axes": [("permute_dims", (x, (flag, 0)), {}), ("tensordot", (x, x), {"axes": flag})],
            "shift": [("roll", (x, flag), {})],
            "n": [("diff", (x,), {"n": flag})],
            "repetitions": [("tile", (x, (flag, 2)), {})],
        }
        for function, arguments, options in calls[name]:
            text = refused(backend, InvalidType, function, *arguments, **options)
            assert f"{name} is one integer or several, and no bool" in text


@pytest.mark.parametrize("number", [np.int64(2), np.uint8(2), np.array(2), np.array([2]), [2], range(2, 3), "device"])
def test_integers_of_numpy_and_of_arrays_are_sizes_and_axes(backend, number):
    xp, x = backend.xp, put(backend, MATRIX)
    given = put(backend, np.int32(2)) if isinstance(number, str) else number
    assert backend.get(xp.zeros(given)).shape == (2,)
    assert backend.get(xp.full(given, 1.5)).tolist() == [1.5, 1.5]
    assert backend.get(xp.expand_dims(x, axis=given)).shape == (2, 3, 1)
    if not isinstance(given, (list, range)) and not np.shape(number):
        assert backend.get(xp.eye(given)).tolist() == [[1, 0], [0, 1]]
        assert backend.get(xp.triu(x, k=given)).tolist() == [[0, 0, 1], [0, 0, 0]]
        assert backend.get(xp.linspace(0, 1, given)).tolist() == [0, 1]


@pytest.mark.parametrize("setting", [1.5, 1.0, np.float32(1), np.array(1.0), "device", "a", {2}, {2: 1}, 1j])
def test_what_is_no_integer_is_no_setting(backend, setting):
    x = put(backend, MATRIX)
    given = put(backend, np.float32(1)) if setting == "device" else setting
    calls = [("zeros", (given,), {}), ("eye", (2,), {"k": given}), ("tril", (x,), {"k": given})]
    calls += [("sum", (x,), {"axis": given}), ("reshape", (x, given), {}), ("expand_dims", (x,), {"axis": given})]
    for name, arguments, options in calls:
        assert "is one integer or several" in refused(backend, InvalidType, name, *arguments, **options)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "max", "min", "all", "any", "argmax", "argmin"])
def test_0_and_1_are_flags(backend, name):
    function, x = getattr(backend.xp, name), put(backend, MATRIX)
    for flag in (1, np.int64(1), np.True_):
        assert backend.get(function(x, axis=0, keepdims=flag)).shape == (1, 3)
    for flag in (0, np.False_):
        assert backend.get(function(x, axis=0, keepdims=flag)).shape == (3,)
    assert "keepdims is True or False" in refused(backend, InvalidType, name, x, keepdims="a")


@pytest.mark.parametrize("k", [2**30, 2**31 - 1, 2**31, 2**40, 2**63, 2**70])
def test_a_diagonal_may_be_far_outside_of_the_matrix(backend, k):
    xp, x = backend.xp, put(backend, MATRIX)
    assert backend.get(xp.tril(x, k=k)).tolist() == backend.get(xp.triu(x, k=-k)).tolist() == MATRIX.tolist()
    for far in (xp.tril(x, k=-k), xp.triu(x, k=k), xp.eye(2, 3, k=k), xp.eye(2, 3, k=-k)):
        assert backend.get(far).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_matrix_may_have_no_columns(backend):
    assert backend.get(backend.xp.eye(2, 0)).shape == (2, 0)


@pytest.mark.parametrize("axis", [(0, 1), [1, 0], (0, -1), (-2, -1), (), (0, 1, 2)])
def test_several_axes_are_added_at_once(backend, axis):
    found = backend.get(backend.xp.expand_dims(put(backend, MATRIX), axis=axis))
    wanted = np.expand_dims(MATRIX, tuple(axis))
    assert (found.shape, found.tolist()) == (wanted.shape, wanted.tolist())


@pytest.mark.parametrize("axis", [(0, 0), (0, -4), (0, 4), 2**40])
def test_places_of_axes_that_the_result_does_not_have_are_refused(backend, axis):
    refused(backend, InvalidArgument, "expand_dims", put(backend, MATRIX), axis=axis)


def test_an_array_without_axes_has_no_axis_that_can_go(backend):
    refused(backend, InvalidArgument, "squeeze", put(backend, np.float32(1)), 0)
    refused(backend, InvalidType, "squeeze", put(backend, MATRIX[:1]), None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("zeros", (2**44,)),
        ("ones", ((2**22, 2**22),)),
        ("full", ((2**20, 2**20, 2**10), 1.5)),
        ("zeros", (2**62,)),
        ("eye", (2**24,)),
        ("linspace", (0, 1, 2**44)),
    ],
)
def test_more_numbers_than_there_is_memory_for_are_refused(backend, name, arguments):
    assert "not enough memory" in refused(backend, InvalidArgument, name, *arguments)


@pytest.mark.parametrize("axis", [0, np.int64(0), np.array(0)])
def test_an_array_without_axes_has_no_axis_to_sum_along(backend, axis):
    refused(backend, InvalidArgument, "sum", put(backend, np.float32(1)), axis=axis)


@pytest.mark.parametrize("indices", [1.5, np.float32(1), [0.0]])
def test_numbers_that_are_no_integers_are_no_indices(backend, indices):
    refused_as(backend, "take", put(backend, MATRIX), indices, axis=0)


def test_more_differences_than_numbers_leave_nothing(backend):
    x = put(backend, MATRIX)
    assert [backend.get(backend.xp.diff(x, n=n)).shape for n in (2, 3, 2**63)] == [(2, 1), (2, 0), (2, 0)]


@pytest.mark.parametrize("axis", [2, -3, 2**31, 2**40, -(2**63), 2**70])
@pytest.mark.parametrize(
    "name", ["sum", "prod", "mean", "max", "min", "all", "any", "argmax", "argmin", "concat", "stack", "flip", "sort"]
)
def test_an_axis_that_an_array_does_not_have_is_no_other_one(backend, name, axis):
    """TensorFlow alone takes 2**40 for 0, in some functions."""
    x = put(backend, MATRIX)
    if name == "stack" and axis in (2, -3):
        return  # an axis of the result
    for one in (x, x > 0):
        refused(backend, InvalidArgument, name, [one, one] if name in ("concat", "stack") else one, axis=axis)


@pytest.mark.parametrize("axes", [(0, 5), (0, 2), (0, 0), (0, -3), (1,), (0, 1, 1), (2**40, 0)])
def test_axes_that_are_no_order_of_those_of_an_array_are_refused(backend, axes):
    refused(backend, InvalidArgument, "permute_dims", put(backend, MATRIX), axes)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_counts_of_a_narrow_dtype_have_a_wide_sum(backend, dtype):
    x, counts = np.arange(20, dtype=np.float32), np.array([*[9] * 19, 14], dtype)
    found = backend.get(backend.xp.repeat(put(backend, x), put(backend, counts)))
    assert found.tolist() == np.repeat(x, counts.astype(int)).tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_next_float_of_a_zero_towards_the_other_zero_is_the_other(backend, dtype):
    xp = backend.xp
    zeros = xp.asarray([0.0, -0.0, 0.0], dtype=dtype), xp.asarray([-0.0, 0.0, 0.0], dtype=dtype)
    assert backend.get(xp.signbit(xp.nextafter(*zeros))).tolist() == [True, False, False]


@pytest.mark.parametrize("several", [(0,), [0], range(1), np.array([0])], ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(
    "name", ["cumulative_sum", "cumulative_prod", "unstack", "sort", "argmax", "diff", "take_along_axis"]
)
def test_one_axis_is_no_tuple(backend, name, several):
    more = [put(backend, np.int32([[0, 0, 0]]))] if name == "take_along_axis" else []
    text = refused(backend, InvalidArgument, name, put(backend, MATRIX), *more, axis=several)
    assert "axis is one integer" in text


def test_one_integer_is_a_tuple_of_it(backend):
    x, vector = put(backend, MATRIX), put(backend, MATRIX[0])
    assert backend.get(backend.xp.tile(x, 2)).tolist() == np.tile(MATRIX, 2).tolist()
    assert backend.get(backend.xp.permute_dims(vector, 0)).tolist() == MATRIX[0].tolist()
    assert (
        backend.get(backend.xp.tensordot(x, x, axes=(1, 1))).tolist() == np.tensordot(MATRIX, MATRIX, (1, 1)).tolist()
    )


def test_axes_of_a_product_are_not_counted_below_zero(backend):
    x = put(backend, MATRIX)
    assert "axes is negative" in refused(backend, InvalidArgument, "tensordot", x, x, axes=-1)


@pytest.mark.parametrize("shift", [1, ()])
def test_a_roll_along_no_axes_moves_nothing(backend, shift):
    assert backend.get(backend.xp.roll(put(backend, MATRIX), shift, axis=())).tolist() == MATRIX.tolist()
