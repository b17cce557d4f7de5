"""PyTorch's array functions against the simulator's, name by name, but for the last units of what is rounded."""

from typing import Any

import numpy as np
import pytest
import torch

import simstrategy as ss
from simstrategy.device import NAMES
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_conformance import functions

INTEGERS = ("int8", "int16", "int32", "int64", "uint8")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*INTEGERS, *FLOATS, *COMPLEX)
ORDERED = ("bool", *INTEGERS, *FLOATS)
ALL = ("bool", *NUMBERS)

BINARY = {
    **dict.fromkeys(("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "matmul"), ALL),
    **dict.fromkeys(("subtract", "pow"), NUMBERS),
    **dict.fromkeys(("maximum", "minimum", "less", "less_equal", "greater", "greater_equal"), ORDERED),
    "divide": (*FLOATS, *COMPLEX),
}
UNARY = {
    **dict.fromkeys(("logical_not", "abs", "isfinite", "isnan"), ALL),
    **dict.fromkeys(("negative", "sign", "square"), NUMBERS),
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "tanh"), (*FLOATS, *COMPLEX)),
    **dict.fromkeys(("floor", "ceil"), ORDERED),
}
REDUCTIONS = {
    **dict.fromkeys(("sum", "prod", "all", "any"), ALL),
    "mean": ALL,
    **dict.fromkeys(("max", "min", "argmax"), ORDERED),
}
SHAPES: dict[str, list[Any]] = {
    "astype": [lambda xp, a: xp.astype(a, "float32"), lambda xp, a: xp.astype(a, "bool")],
    "zeros_like": [lambda xp, a: xp.zeros_like(a), lambda xp, a: xp.zeros_like(a, dtype="int8")],
    "ones_like": [lambda xp, a: xp.ones_like(a), lambda xp, a: xp.ones_like(a, dtype="bool")],
    "full_like": [lambda xp, a: xp.full_like(a, 1), lambda xp, a: xp.full_like(a, 2.7, dtype="int32")],
    "where": [
        lambda xp, a: xp.where(xp.equal(a, 1), a, xp.zeros_like(a)),
        lambda xp, a: xp.where(a, a, 1),
        lambda xp, a: xp.where(a, 1.5, 2.5),
    ],
    "permute_dims": [lambda xp, a: xp.permute_dims(a, (1, 0)), lambda xp, a: xp.permute_dims(a, (-1, 0))],
    "reshape": [lambda xp, a: xp.reshape(a, (3, -1)), lambda xp, a: xp.reshape(a, 6)],
    "expand_dims": [lambda xp, a: xp.expand_dims(a, axis=0), lambda xp, a: xp.expand_dims(a, axis=-1)],
    "squeeze": [
        lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6, 1)), 0),
        lambda xp, a: xp.squeeze(xp.reshape(a, (1, 6, 1)), (0, -1)),
        lambda xp, a: xp.squeeze(a, ()),
    ],
    "broadcast_to": [lambda xp, a: xp.broadcast_to(a, (2, 2, 3)), lambda xp, a: xp.broadcast_to(a[0], (2, 3))],
    "concat": [lambda xp, a: xp.concat([a, a]), lambda xp, a: xp.concat((a, a, a), axis=1)],
    "stack": [lambda xp, a: xp.stack([a, a]), lambda xp, a: xp.stack([a, a], axis=-1)],
    "take": [
        lambda xp, a: xp.take(a, xp.asarray([0, -1, 1]), axis=1),
        lambda xp, a: xp.take(a, np.array([[0], [1]], np.int8), axis=-2),
        lambda xp, a: xp.take(a, 1, axis=0),
    ],
}
CREATION: dict[str, list[Any]] = {
    "zeros": [lambda xp: xp.zeros(3), lambda xp: xp.zeros((2, 0), dtype="complex64")],
    "ones": [lambda xp: xp.ones(()), lambda xp: xp.ones([2, 1], dtype="bool")],
    "full": [
        lambda xp: xp.full(2, 3),
        lambda xp: xp.full((2, 2), 1.5),
        lambda xp: xp.full((2,), True),
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
        lambda xp: xp.asarray(np.arange(6, dtype=">i4")[::-2]),
        lambda xp: xp.asarray(xp.ones(2), dtype="int8"),
    ],
}


@pytest.fixture(scope="module")
def xps() -> Any:
    return ss.backend("sim").xp, ss.backend("torch").xp


def sample(dtype: str, *, shift: int = 0) -> np.ndarray[Any, Any]:
    values = np.array([[1, 2, 0], [3, 1, 2]]) + shift
    return (values % 2 == 0 if dtype == "bool" else values).astype(dtype)


def assert_equal(expected: Any, got: Any) -> None:
    assert isinstance(got, torch.Tensor)
    left, right = np.asarray(expected), got.numpy()
    assert (right.dtype.name, right.shape) == (left.dtype.name, left.shape)
    if left.dtype.kind in "fc":
        tolerance = {"float16": 2e-3, "float32": 3e-7, "complex64": 3e-7}.get(left.dtype.name, 1e-14)
        np.testing.assert_allclose(right, left, rtol=tolerance, atol=tolerance)
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
    sim, xp = xps
    a, b = sample(dtype), sample(dtype, shift=1)
    if name == "matmul":
        pairs = [(a, b.T), (a[0], b.T), (a, b[0]), (a[0], b[0]), (np.stack([a, a]), b.T)]
    else:
        pairs = [(a, b), (a, b[0]), (a, True), (True, b)]
        pairs += [] if dtype == "bool" and name in ("add", "multiply", "maximum", "minimum") else [(a, 2), (2, a)]
    for x1, x2 in pairs:
        expected = getattr(sim, name)(x1, x2)
        assert_equal(expected, getattr(xp, name)(x1, x2))
        assert_equal(expected, getattr(xp, name)(x1 if isinstance(x1, int) else xp.asarray(x1), x2))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), cases(UNARY))
def test_unary_functions_agree(xps: Any, name: str, dtype: str) -> None:
    values = sample(dtype)
    if dtype in FLOATS:
        values = np.append(values, [np.nan, np.inf, -1.5, -0.0]).astype(dtype)
    assert_equal(getattr(xps[0], name)(values), getattr(xps[1], name)(values))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), cases(REDUCTIONS))
def test_reductions_agree_on_every_axis(xps: Any, name: str, dtype: str) -> None:
    values = sample(dtype)
    axes: tuple[Any, ...] = (None, 0, -1) if name == "argmax" else (None, 0, -1, (0, -1), ())
    for axis in axes:
        for keepdims in (False, True):
            expected, got = (getattr(xp, name)(values, axis=axis, keepdims=keepdims) for xp in xps)
            assert_equal(expected, got)
    assert_equal(*[getattr(xp, name)(values[0, 0]) for xp in xps])


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize(("name", "dtype"), [(name, dtype) for name in SHAPES for dtype in ALL])
def test_functions_of_shape_agree(xps: Any, name: str, dtype: str) -> None:
    if dtype in COMPLEX and name == "astype":
        pytest.skip("the standard has no cast from complex to real")
    for case in SHAPES[name]:
        assert_equal(*[case(xp, xp.asarray(sample(dtype))) for xp in xps])


@pytest.mark.parametrize("name", CREATION)
def test_creation_agrees(xps: Any, name: str) -> None:
    for case in CREATION[name]:
        assert_equal(*[case(xp) for xp in xps])


@pytest.mark.parametrize("name", ["max", "min", "maximum", "minimum", "argmax"])
def test_a_nan_wins_where_the_simulator_lets_it_win(xps: Any, name: str) -> None:
    values = np.array([[1, np.nan, 3], [np.nan, 2, np.inf], [4, 5, 6]], np.float32)
    for axis in (0, 1, None):
        arguments: Any = (values, values[::-1].copy()) if name.endswith("imum") else (values,)
        keywords = {} if name.endswith("imum") else {"axis": axis}
        assert_equal(*[getattr(xp, name)(*arguments, **keywords) for xp in xps])


@pytest.mark.parametrize(
    ("first", "second"),
    [("int8", "int32"), ("float32", "float64"), ("uint8", "int8"), ("bool", "int32"), ("int32", "float32")],
)
def test_two_dtypes_promote_as_on_the_simulator(xps: Any, first: str, second: str) -> None:
    for name in ("add", "where", "concat", "stack"):
        results = []
        for xp in xps:
            a, b = xp.asarray(sample(first)), xp.asarray(sample(second))
            arguments = {"where": (True, a, b), "concat": ([a, b],), "stack": ([a, b],)}.get(name, (a, b))
            results.append(getattr(xp, name)(*arguments))
        assert_equal(*results)


def test_python_numbers_widen_where_they_must_as_on_the_simulator(xps: Any) -> None:
    assert_equal(*[xp.multiply(xp.asarray([1, 2]), 0.5) for xp in xps])
    assert_equal(*[xp.add(xp.asarray([True, False]), 1) for xp in xps])
    assert_equal(*[xp.multiply(xp.asarray([1.0]), 1j) for xp in xps])


def test_a_python_number_is_rounded_to_the_dtype_before_the_operation(xps: Any) -> None:
    # 2049 is no float16: NumPy makes 2048 of it first, PyTorch's own scalars would stay 2049.
    assert_equal(*[xp.add(xp.asarray([1.0], dtype="float16"), 2049) for xp in xps])


def test_a_python_number_that_does_not_fit_is_refused(xps: Any) -> None:
    for xp in xps:
        with pytest.raises(InvalidArgument):
            xp.add(xp.asarray([1], dtype="int8"), 300)


@pytest.mark.parametrize("name", ["max", "min", "argmax"])
def test_a_maximum_of_nothing_is_refused(xps: Any, name: str) -> None:
    with pytest.raises(ValueError, match="nothing has no largest"):
        getattr(xps[1], name)(xps[1].zeros((2, 0)), axis=1)
    if name != "argmax":
        assert_equal(*[getattr(xp, name)(xp.zeros((2, 0)), axis=0) for xp in xps])


def test_impossible_data_dtypes_and_settings_are_refused(xps: Any) -> None:
    xp = xps[1]
    with pytest.raises(InvalidArgument, match="no dtype 'float31'"):
        xp.zeros(2, dtype="float31")
    with pytest.raises(InvalidArgument, match="no dtype 'uint16'"):
        xp.asarray(np.zeros(2, np.uint16))
    with pytest.raises(InvalidArgument, match="rows of equal length"):
        xp.asarray([[1], [2, 3]])
    with pytest.raises(InvalidArgument, match="no dtype"):
        xp.asarray(np.array(["a"]))
    with pytest.raises(InvalidArgument, match="only axes of size 1"):
        xp.squeeze(xp.zeros((2, 1)), 0)
    with pytest.raises(InvalidArgument, match="no axis 2"):
        xp.sum(xp.zeros((2, 1)), axis=2)
    with pytest.raises(InvalidArgument, match="negative power"):
        xp.pow(xp.asarray([2]), -1)
    with pytest.raises(InvalidType, match="cast them to int32"):
        xp.take(xp.zeros(2), xp.zeros(1), axis=0)
    with pytest.raises(InvalidArgument):
        xp.take(xp.zeros(2), 2, axis=0)


def test_bfloat16_computes_and_promotes_as_on_the_simulator(xps: Any) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    host = np.array([1.5], ml_dtypes.bfloat16)
    assert_equal(*[xp.astype(xp.add(xp.asarray([1.0, 2.5], dtype="bfloat16"), 1), "float32") for xp in xps])
    assert_equal(*[xp.multiply(xp.asarray(host), xp.asarray([2.0])) for xp in xps])
    # Integers with bfloat16 are beyond the standard: PyTorch's answer, since NumPy's functions differ among themselves.
    assert xps[1].multiply(xps[1].asarray(host), xps[1].asarray([2])).dtype is torch.bfloat16


def test_host_data_is_copied_and_casts_are_new_arrays(xps: Any) -> None:
    xp, host = xps[1], np.ones(2, np.float32)
    array = xp.asarray(host)
    host[:] = 5
    assert array.tolist() == [1, 1]
    for made in (
        xp.astype(array, "float32"),
        xp.asarray(array, dtype="float32"),
        xp.broadcast_to(array, (2,)),
        xp.abs(xp.asarray([True])),
    ):
        assert made.data_ptr() != array.data_ptr()


def test_creation_is_on_the_cpu_whatever_pytorchs_default_device_is(xps: Any) -> None:
    with torch.device("meta"):
        made = [xps[1].zeros(2), xps[1].eye(2), xps[1].asarray([1.0]), xps[1].arange(3)]
    assert [array.device.type for array in made] == ["cpu"] * 4


def test_gradients_flow_through_the_namespace(xps: Any) -> None:
    xp, x = xps[1], torch.tensor([1.0, 2.0], requires_grad=True)
    xp.sum(xp.square(xp.take(xp.where(xp.greater(x, 0), x, 0.0), [1, 1], axis=0))).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 8]


def test_a_complex_array_is_divided_by_a_real_number_part_by_part_and_has_a_gradient():
    xp = ss.backend("torch").xp
    value = torch.tensor([-1 / 6 * 6 - 5j, 2 + 7j], dtype=torch.complex64, requires_grad=True)
    quotient = xp.divide(value, 6.0)
    wanted = np.array([-1 - 5j, 2 + 7j], np.complex64).view(np.float32) / np.float32(6)
    assert quotient.dtype is torch.complex64
    assert quotient.detach().numpy().view(np.float32).tobytes() == wanted.tobytes()
    quotient.abs().square().sum().backward()
    np.testing.assert_allclose(value.grad.numpy(), 2 * value.detach().numpy() / 36, rtol=1e-6)
    assert xp.divide(value.conj(), 2.0).resolve_conj()[1] == 1 - 3.5j


@pytest.mark.parametrize(("shift", "axis"), [(1, 1), (1, -2), (1, (0, 1)), ((1, 1), (0,))])
def test_the_axes_of_an_empty_array_are_looked_at(xps: Any, shift: Any, axis: Any) -> None:
    for xp in xps:
        with pytest.raises(InvalidArgument):
            xp.roll(xp.zeros((0,)), shift, axis=axis)
