"""TensorFlow's array functions against the simulator's, name by name, but for the last units of what is rounded."""

from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device import NAMES
from simstrategy.errors import InvalidArgument
from simstrategy_conformance import functions

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*INTEGERS, *FLOATS, *COMPLEX)
ORDERED = ("bool", *INTEGERS, *FLOATS)
ALL = ("bool", *NUMBERS)

BINARY = {
    "add": ALL,
    "subtract": NUMBERS,
    "multiply": ALL,
    "divide": (*FLOATS, *COMPLEX),
    "pow": NUMBERS,
    "maximum": ORDERED,
    "minimum": ORDERED,
    "equal": ALL,
    "not_equal": ALL,
    "less": ORDERED,
    "less_equal": ORDERED,
    "greater": ORDERED,
    "greater_equal": ORDERED,
    "logical_and": ALL,
    "logical_or": ALL,
    "matmul": ALL,
}
UNARY = {
    "logical_not": ALL,
    "negative": NUMBERS,
    "abs": ALL,
    "sign": NUMBERS,
    "square": NUMBERS,
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "tanh"), (*FLOATS, *COMPLEX)),
    "floor": (*INTEGERS, *FLOATS),
    "ceil": (*INTEGERS, *FLOATS),
    "isfinite": ALL,
    "isnan": ALL,
}
REDUCTIONS = {
    "sum": ALL,
    "prod": ALL,
    "mean": (*FLOATS, *COMPLEX),
    "max": ORDERED,
    "min": ORDERED,
    "all": ALL,
    "any": ALL,
    "argmax": ORDERED,
}
SHAPES: dict[str, Any] = {
    "asarray": [lambda xp, a: xp.asarray(a), lambda xp, a: xp.asarray(a, dtype="float64")],
    "astype": [lambda xp, a: xp.astype(a, "float32"), lambda xp, a: xp.astype(a, "bool")],
    "zeros_like": [lambda xp, a: xp.zeros_like(a), lambda xp, a: xp.zeros_like(a, dtype="int8")],
    "ones_like": [lambda xp, a: xp.ones_like(a), lambda xp, a: xp.ones_like(a, dtype="bool")],
    "full_like": [lambda xp, a: xp.full_like(a, 1), lambda xp, a: xp.full_like(a, 2.7, dtype="int32")],
    "where": [lambda xp, a: xp.where(xp.equal(a, 1), a, 0), lambda xp, a: xp.where(a, a, xp.zeros_like(a))],
    "permute_dims": [lambda xp, a: xp.permute_dims(a, (1, 0)), lambda xp, a: xp.permute_dims(a, (-1, 0))],
    "reshape": [lambda xp, a: xp.reshape(a, (-1,)), lambda xp, a: xp.reshape(a, (3, 1, 2))],
    "expand_dims": [lambda xp, a: xp.expand_dims(a, axis=0), lambda xp, a: xp.expand_dims(a, axis=-1)],
    "squeeze": [
        lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6, 1)), 0),
        lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6, 1)), (0, -1)),
        lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6)), ()),
    ],
    "broadcast_to": [lambda xp, a: xp.broadcast_to(a, (4, 2, 3))],
    "concat": [lambda xp, a: xp.concat([a, a[:1]]), lambda xp, a: xp.concat((a, a), axis=-1)],
    "stack": [lambda xp, a: xp.stack([a, a]), lambda xp, a: xp.stack((a, a), axis=-1)],
    "take": [
        lambda xp, a: xp.take(a, xp.asarray([2, 0, -1]), axis=1),
        lambda xp, a: xp.take(a, [[0], [1]], axis=0),
        lambda xp, a: xp.take(a, np.uint8(1), axis=-1),
    ],
}
CREATION: dict[str, Any] = {
    "zeros": [lambda xp: xp.zeros(3), lambda xp: xp.zeros((2, 0), dtype="bool"), lambda xp: xp.zeros(())],
    "ones": [lambda xp: xp.ones((2, 3)), lambda xp: xp.ones((), dtype="int8")],
    "full": [
        lambda xp: xp.full((2,), 7),
        lambda xp: xp.full(2, 0.5),
        lambda xp: xp.full((), True),
        lambda xp: xp.full((2,), 2.7, dtype="int32"),
        lambda xp: xp.full((2,), np.float64(3)),
    ],
    "arange": [
        lambda xp: xp.arange(4),
        lambda xp: xp.arange(1, 7, 2, dtype="uint8"),
        lambda xp: xp.arange(0.0, 100.0, 0.1),
        lambda xp: xp.arange(5, 0, -2),
    ],
    "eye": [lambda xp: xp.eye(3), lambda xp: xp.eye(2, 3, dtype="int32")],
    "asarray": [
        lambda xp: xp.asarray(1),
        lambda xp: xp.asarray([[1.5], [2.0]]),
        lambda xp: xp.asarray(True),
        lambda xp: xp.asarray(1j),
        lambda xp: xp.asarray(0.1, dtype="float64"),
        lambda xp: xp.asarray(np.float64(2)),
    ],
}


@pytest.fixture(scope="module")
def xps() -> Any:
    return ss.backend("sim").xp, ss.backend("tensorflow").xp


def sample(dtype: str, *, shift: int = 0) -> np.ndarray[Any, Any]:
    values = np.array([[1, 2, 0], [3, 1, 2]]) + shift
    return (values % 2 == 0 if dtype == "bool" else values).astype(dtype)


def assert_equal(expected: Any, got: Any) -> None:
    left, right = np.asarray(expected), got.numpy()
    assert (right.dtype.name, right.shape) == (left.dtype.name, left.shape)
    if left.dtype.kind in "fc":
        exponent = {"float16": 2e-3}.get(
            left.dtype.name, 3e-7 if left.dtype.name in ("float32", "complex64") else 1e-14
        )
        np.testing.assert_allclose(right, left, rtol=exponent, atol=exponent)
    else:
        np.testing.assert_array_equal(right, left)


def cases(table: dict[str, tuple[str, ...]]) -> list[tuple[str, str]]:
    return [(name, dtype) for name, dtypes in table.items() for dtype in dtypes]


def test_every_name_of_the_namespace_is_compared_here_or_by_the_kit() -> None:
    compared = {*BINARY, *UNARY, *REDUCTIONS, *SHAPES, *CREATION}
    assert compared | set(functions.CASES) == set(NAMES)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), cases(BINARY))
def test_binary_functions_agree_on_tensors_host_arrays_and_python_numbers(xps: Any, name: str, dtype: str) -> None:
    sim, tensorflow = xps
    a, b = sample(dtype), sample(dtype, shift=1)
    if name == "matmul":
        pairs = [(a, b.T), (a[0], b.T), (a, b[0]), (a[0], b[0]), (np.stack([a, a]), b.T)]
    else:
        pairs = [(a, b), (a, b[0]), (a, True), (True, b)]
        pairs += [(a, 2), (2, a)] if dtype != "bool" or name not in ("add", "multiply", "maximum", "minimum") else []
    for x1, x2 in pairs:
        expected = getattr(sim, name)(x1, x2)
        assert_equal(expected, getattr(tensorflow, name)(x1, x2))
        left = x1 if isinstance(x1, (bool, int)) else tensorflow.asarray(x1)
        assert_equal(expected, getattr(tensorflow, name)(left, x2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), cases(UNARY))
def test_unary_functions_agree(xps: Any, name: str, dtype: str) -> None:
    sim, tensorflow = xps
    values = sample(dtype)
    if values.dtype.kind in "fc" and name in ("floor", "ceil", "isfinite", "isnan", "sign"):
        values = np.append(values, [np.nan, np.inf, -1.5, -0.0]).astype(dtype)
        values = values[:-4] if values.dtype.kind == "c" and name == "sign" else values
    assert_equal(getattr(sim, name)(values), getattr(tensorflow, name)(tensorflow.asarray(values)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), cases(REDUCTIONS))
def test_reductions_agree_on_every_axis(xps: Any, name: str, dtype: str) -> None:
    sim, tensorflow = xps
    values = sample(dtype)
    axes: tuple[Any, ...] = (None, 0, -1) if name == "argmax" else (None, 0, -1, (0, 1), ())
    for axis in axes:
        for keepdims in (False, True):
            expected = getattr(sim, name)(values, axis=axis, keepdims=keepdims)
            assert_equal(expected, getattr(tensorflow, name)(tensorflow.asarray(values), axis=axis, keepdims=keepdims))


@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in SHAPES for dtype in ALL])
def test_functions_of_shape_agree(xps: Any, name: str, dtype: str) -> None:
    if dtype in COMPLEX and name in ("asarray", "astype", "full_like"):
        pytest.skip("the standard has no cast from complex to real")
    sim, tensorflow = xps
    for case in SHAPES[name]:
        assert_equal(case(sim, sim.asarray(sample(dtype))), case(tensorflow, tensorflow.asarray(sample(dtype))))


@pytest.mark.parametrize("name", CREATION)
def test_creation_agrees(xps: Any, name: str) -> None:
    for case in CREATION[name]:
        assert_equal(case(xps[0]), case(xps[1]))


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum", "argmax"])
def test_a_nan_wins_where_the_simulator_lets_it_win(xps: Any, name: str) -> None:
    values = np.array([[1, np.nan, 3], [np.nan, 2, np.inf], [4, 5, 6]], np.float32)
    for axis in (0, 1, None):
        arguments: Any = (values, values[::-1].copy()) if name.endswith("imum") else (values,)
        keywords = {} if name.endswith("imum") else {"axis": axis}
        assert_equal(getattr(xps[0], name)(*arguments, **keywords), getattr(xps[1], name)(*arguments, **keywords))


@pytest.mark.parametrize(
    ("first", "second"),
    [("int8", "int32"), ("float32", "float64"), ("uint8", "int8"), ("bool", "int32"), ("int32", "float32")],
)
def test_two_dtypes_promote_as_on_the_simulator(xps: Any, first: str, second: str) -> None:
    for xp_function in ("add", "where", "concat", "stack"):
        results = []
        for xp in xps:
            a, b = xp.asarray(sample(first)), xp.asarray(sample(second))
            extra = {"where": (True, a, b), "concat": ([a, b],), "stack": ([a, b],)}.get(xp_function, (a, b))
            results.append(getattr(xp, xp_function)(*extra))
        assert_equal(*results)


def test_a_python_float_widens_integers_as_on_the_simulator(xps: Any) -> None:
    assert_equal(*[xp.multiply(xp.asarray([1, 2]), 0.5) for xp in xps])
    assert_equal(*[xp.add(xp.asarray([True, False]), 1) for xp in xps])


@pytest.mark.parametrize("name", ["max", "min", "argmax"])
def test_a_maximum_of_nothing_is_refused(xps: Any, name: str) -> None:
    with pytest.raises(ValueError, match="nothing has no largest"):
        getattr(xps[1], name)(xps[1].zeros((2, 0)), axis=1)
    if name != "argmax":
        assert_equal(*[getattr(xp, name)(xp.zeros((2, 0)), axis=0) for xp in xps])


def test_impossible_data_and_dtypes_are_refused(xps: Any) -> None:
    with pytest.raises(InvalidArgument, match="no dtype 'float31'"):
        xps[1].zeros(2, dtype="float31")
    with pytest.raises(InvalidArgument, match="rows of equal length"):
        xps[1].asarray([[1], [2, 3]])
    with pytest.raises(InvalidArgument, match="no dtype"):
        xps[1].asarray(np.array(["a"]))


def test_bfloat16_computes_and_promotes_as_on_the_simulator(xps: Any) -> None:
    pytest.importorskip("ml_dtypes")
    assert_equal(*[xp.astype(xp.add(xp.asarray([1.0, 2.5], dtype="bfloat16"), 1), "float32") for xp in xps])
    assert_equal(*[xp.multiply(xp.asarray([1.5], dtype="bfloat16"), xp.asarray([2.0])) for xp in xps])


def test_functions_compute_where_their_arguments_are() -> None:
    backend = ss.backend("tensorflow", replicas=3)
    on_two = backend.put(np.ones(2, np.float32), backend.devices[2])
    for result in (backend.xp.add(on_two, 1), backend.xp.add(np.ones(2, np.float32), on_two), backend.xp.sum(on_two)):
        assert backend.spec(result).placement == backend.devices[2].placement
    with backend.on(backend.devices[1]):
        assert backend.spec(backend.xp.zeros(2)).placement == backend.devices[1].placement
        assert backend.spec(backend.xp.negative(on_two)).placement == backend.devices[2].placement
