"""Numbers are alike on every backend: sums of few bits, means, divisions, promotions, in-place operators, errors.

# Clauses: R-1, B-19, B-20, B-21, B-22, E-5
"""

import numpy as np
import pytest
from on_backends import BACKENDS, opened, put

import simstrategy as ss
from simstrategy.errors import InvalidArgument, InvalidType, SimStrategyError


@pytest.fixture(scope="module", params=BACKENDS)
def backend(request):
    return opened(request.param, 2)


@pytest.mark.parametrize(("dtype", "count"), [("float16", 3000), ("bfloat16", 1000)])
def test_sums_of_few_bits_along_an_axis_are_as_exact_as_their_result(backend, dtype, count):
    xp = backend.xp
    ones = xp.astype(put(backend, np.ones((count, 2), np.float32)), dtype)
    exact = np.asarray(backend.get(xp.astype(put(backend, np.float32([count, 2 * count, 1])), dtype)), np.float64)
    for axis, wanted in ((0, exact[0]), (None, exact[1])):
        assert (np.asarray(backend.get(xp.sum(ones, axis=axis)), np.float64) == wanted).all()
        for name in ("mean", "prod"):
            found = backend.get(getattr(xp, name)(ones, axis=axis))
            assert (found.dtype.name, {*np.asarray(found, np.float64).reshape(-1)}) == (dtype, {1.0})
        assert not np.asarray(backend.get(xp.var(ones, axis=axis)), np.float64).any()
    running = np.asarray(backend.get(xp.cumulative_sum(ones, axis=0)), np.float64)
    assert abs(running[-1] - exact[0]).max() <= exact[0] * 2.0**-7


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_long_sum_of_few_bits_is_near_the_exact_one(backend, dtype):
    xp = backend.xp
    numbers = np.random.default_rng(0).random((999, 3)).astype(np.float32)
    rounded = np.asarray(backend.get(xp.astype(xp.astype(put(backend, numbers), dtype), "float32")), np.float64)
    found = np.asarray(backend.get(xp.sum(xp.astype(put(backend, numbers), dtype), axis=0)), np.float64)
    assert (abs(found - rounded.sum(axis=0)) <= abs(found) * {"float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype]).all()


def test_a_mean_of_bfloat16_stays_bfloat16(backend):
    strategy = ss.Strategy.mirrored(backend)

    def replica():
        context = ss.get_replica_context()
        return context.all_reduce("MEAN", context.xp.astype(context.xp.asarray([1.0, 3.0]), "bfloat16"))

    found = [backend.get(one) for one in strategy.experimental_local_results(strategy.run(replica))]
    assert [(one.dtype.name, one.astype("float64").tolist()) for one in found] == [("bfloat16", [1.0, 3.0])] * 2


def test_a_mean_divides_each_part_of_a_complex_number_separately(backend):
    strategy = ss.Strategy.mirrored(backend)
    given = np.array([complex(np.inf, 1), complex(1, -np.inf), complex(-4, 6)], np.complex64)
    found = strategy.run(lambda: ss.get_replica_context().all_reduce("MEAN", given))
    for one in strategy.experimental_local_results(found):
        assert np.asarray(backend.get(one)).view(np.float32).tolist() == given.view(np.float32).tolist()


@pytest.mark.parametrize("divisor", [2, 2.0, np.float32(2), np.float32([2, 2])])
def test_a_complex_array_is_divided_by_real_numbers_and_arrays_part_by_part(backend, divisor):
    given = np.array([complex(np.inf, 1), complex(1, -np.inf)], np.complex64)
    by = put(backend, divisor) if isinstance(divisor, np.ndarray) else divisor
    found = backend.get(backend.xp.divide(put(backend, given), by))
    assert found.dtype == np.complex64
    assert found.view(np.float32).tolist() == [np.inf, 0.5, 0.5, -np.inf]


@pytest.mark.parametrize("name", ["divide", "mean", "sqrt", "exp", "var", "atan2", "logaddexp"])
def test_functions_of_floats_compute_integers_and_bool_as_float32(backend, name):
    for dtype in ("int32", "bool", "uint8"):
        given = put(backend, np.array([1, 1, 0], dtype))
        arguments = (
            (given, put(backend, np.array([1, 1, 1], dtype))) if name in ("divide", "atan2", "logaddexp") else (given,)
        )
        assert backend.get(getattr(backend.xp, name)(*arguments)).dtype == np.float32


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("int32", "float32", "float32"),
        ("int32", 0.5, "float32"),
        ("bool", 2, "int32"),
        ("float32", 1j, "complex64"),
        ("uint8", "float16", "float16"),
        ("float16", "bfloat16", "float32"),
        ("bfloat16", 0.5, "bfloat16"),
        ("int8", "uint8", "int16"),
    ],
)
def test_arrays_and_numbers_of_several_kinds_have_one_common_dtype(backend, first, second, wanted):
    xp = backend.xp
    ones = xp.asarray([1.0, 1.0])
    array = xp.astype(ones, first)
    other = xp.astype(ones, second) if isinstance(second, str) else second
    found = [xp.add(array, other), xp.multiply(other, array), xp.where(xp.asarray([True, False]), array, other)]
    found += [xp.concat([array, other])] if isinstance(second, str) else []
    assert {backend.get(one).dtype.name for one in found} == {wanted}


def test_an_array_that_others_hold_is_not_changed_by_an_operator_such_as_plus_equals(backend):
    if backend.name == "torch":
        pytest.skip("PyTorch's own: E-5 states it")
    strategy = ss.Strategy.mirrored(backend)

    def replica():
        context = ss.get_replica_context()
        total, history = context.xp.zeros(2), []
        for number in (1.0, 2.0, 3.0):
            total += context.all_reduce("MEAN", context.xp.full((2,), number))
            history.append(total)
        return history

    for steps in zip(*[strategy.experimental_local_results(one) for one in strategy.run(replica)], strict=True):
        assert [backend.get(one).tolist() for one in steps] == [[1.0, 1.0], [3.0, 3.0], [6.0, 6.0]]


M, I = np.ones((2, 3), np.float32), np.ones((2, 3), np.int32)  # noqa: E741 - an array of integers
WRONG = [
    ("add", (M, M[:, :2]), {}, InvalidArgument),
    ("add", (np.ones(2, np.int8), 300), {}, InvalidArgument),
    ("sum", (M,), {"axis": 2}, InvalidArgument),
    ("sum", (M,), {"axis": "x"}, InvalidType),
    ("reshape", (M, (4, 2)), {}, InvalidArgument),
    ("matmul", (M, M), {}, InvalidArgument),
    ("max", (M[:0],), {}, InvalidArgument),
    ("take", (M, np.array([3])), {"axis": 1}, InvalidArgument),
    ("take", (M, np.float32([0.5])), {"axis": 1}, InvalidType),
    ("bitwise_and", (M, M), {}, InvalidType),
    ("negative", (M > 0,), {}, InvalidType),
    ("sign", (M > 0,), {}, InvalidType),
    ("floor", (M.astype("complex64"),), {}, InvalidType),
    ("imag", (M,), {}, InvalidType),
    ("pow", (I, -1), {}, InvalidArgument),
    ("arange", (0, 1, 0), {}, InvalidArgument),
    ("expand_dims", (M,), {"axis": 7}, InvalidArgument),
    ("squeeze", (M, 0), {}, InvalidArgument),
    ("concat", ([M, M[0]],), {}, InvalidArgument),
    ("zeros", ((2,),), {"dtype": "float31"}, InvalidArgument),
]


@pytest.mark.parametrize(("name", "arguments", "options", "kind"), WRONG)
def test_a_mistake_in_a_call_has_one_class_of_error_on_every_backend(backend, name, arguments, options, kind):
    def given(value):
        if isinstance(value, list):
            return [given(one) for one in value]
        return put(backend, value) if isinstance(value, np.ndarray) and value.dtype != np.int64 else value

    with pytest.raises(kind) as caught:
        backend.get(getattr(backend.xp, name)(*map(given, arguments), **options))
    assert type(caught.value) is kind
    assert "0x" not in str(caught.value)


@pytest.mark.parametrize(("dtype", "number"), [("uint8", 300), ("uint8", -1), ("int32", 2**40)])
def test_an_integer_that_a_dtype_does_not_hold_fills_no_array(backend, dtype, number):
    xp = backend.xp
    with pytest.raises(SimStrategyError):
        xp.full((2,), number, dtype=dtype)
    with pytest.raises(SimStrategyError):
        xp.full_like(xp.zeros((2,), dtype=dtype), number)
