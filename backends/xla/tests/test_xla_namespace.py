"""JAX's array functions against the simulator's, name by name, but for the last units of what is rounded."""

from typing import Any

import jax
import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.device import NAMES
from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy_conformance import functions

INTEGERS = ("int8", "int32", "uint8", "uint32")
FLOATS = ("float16", "bfloat16", "float32")
NUMBERS = (*INTEGERS, *FLOATS, "complex64")
ORDERED = ("bool", *INTEGERS, *FLOATS)
ALL = ("bool", *NUMBERS)
INEXACT = (*FLOATS, "complex64")
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "complex64": 1e-6}

BINARY = {
    **dict.fromkeys(("add", "multiply", "equal", "not_equal", "logical_and", "logical_or"), ALL),
    **dict.fromkeys(("subtract", "pow"), NUMBERS),
    **dict.fromkeys(("maximum", "minimum", "less", "less_equal", "greater", "greater_equal"), ORDERED),
    "divide": INEXACT,
}
UNARY = {
    **dict.fromkeys(("logical_not", "abs", "isfinite", "isnan"), ALL),
    **dict.fromkeys(("negative", "sign", "square"), NUMBERS),
    **dict.fromkeys(("sqrt", "exp", "log", "log1p", "tanh"), INEXACT),
    **dict.fromkeys(("floor", "ceil"), (*INTEGERS, *FLOATS)),
}
REDUCTIONS = {
    **dict.fromkeys(("sum", "prod", "all", "any"), ALL),
    **dict.fromkeys(("max", "min", "argmax"), ORDERED),
    "mean": INEXACT,
}
OTHERS: dict[str, Any] = {
    "asarray": lambda xp, a: [xp.asarray(a), xp.asarray(a, dtype="float16")],
    "astype": lambda xp, a: [xp.astype(a, "float32"), xp.astype(a, "bool"), xp.astype(a, "int16")],
    "zeros": lambda xp, a: [xp.zeros((2, 0)), xp.zeros(3, dtype="int8")],
    "ones": lambda xp, a: [xp.ones(()), xp.ones((1, 2), dtype="bool")],
    "full": lambda xp, a: [xp.full((2,), 7), xp.full(3, 1.5), xp.full((2,), 2.7, dtype="int32"), xp.full((), True)],
    "zeros_like": lambda xp, a: [xp.zeros_like(a), xp.zeros_like(a, dtype="int8")],
    "ones_like": lambda xp, a: [xp.ones_like(a), xp.ones_like(a, dtype="bool")],
    "full_like": lambda xp, a: [xp.full_like(a, 1), xp.full_like(a, 2.7, dtype="int32")],
    "arange": lambda xp, a: [xp.arange(4), xp.arange(1, 9, 3), xp.arange(0, 1, 0.1), xp.arange(3, dtype="uint8")],
    "eye": lambda xp, a: [xp.eye(2), xp.eye(2, 3, dtype="int16")],
    "where": lambda xp, a: [
        xp.where(xp.equal(a, 1), a, a.dtype == bool),
        xp.where(a, a, xp.zeros_like(a)),
        xp.where(xp.equal(a, 1), 1, 5),
        xp.where(np.array([True, False, True]), 2.0, 1.0),
    ],
    "permute_dims": lambda xp, a: [xp.permute_dims(a, (1, 0)), xp.permute_dims(a, (-1, 0))],
    "reshape": lambda xp, a: [xp.reshape(a, (-1,)), xp.reshape(a, (3, 1, 2))],
    "expand_dims": lambda xp, a: [xp.expand_dims(a, axis=0), xp.expand_dims(a, axis=-1)],
    "squeeze": lambda xp, a: [xp.squeeze(xp.reshape(a, (2, 1, 3)), 1), xp.squeeze(xp.reshape(a, (1, 6, 1)), (0, 2))],
    "broadcast_to": lambda xp, a: [xp.broadcast_to(a, (2, 2, 3))],
    "concat": lambda xp, a: [xp.concat([a, a]), xp.concat([a, xp.reshape(a, (2, 3))], axis=1)],
    "stack": lambda xp, a: [xp.stack([a, a]), xp.stack([a, a], axis=-1)],
    "take": lambda xp, a: [
        xp.take(a, xp.asarray([2, 0]), axis=1),
        xp.take(a, [-1, 0, 0], axis=0),
        xp.take(a, np.arange(2), axis=0),
        xp.take(a, 1, axis=1),
        xp.take(a, np.zeros(0, np.int64), axis=0),
    ],
    "matmul": lambda xp, a: [
        xp.matmul(a, xp.permute_dims(a, (1, 0))),
        xp.matmul(a, xp.asarray(np.ones(3), dtype=str(a.dtype))),
        xp.matmul(xp.stack([a, a]), xp.permute_dims(a, (1, 0))),
    ],
}


def _cases() -> list[Any]:
    cases = [(name, dtype) for table in (BINARY, UNARY, REDUCTIONS) for name in table for dtype in table[name]]
    # The simulator multiplies bfloat16 matrices into float32.
    ours = tuple(dtype for dtype in ALL if dtype != "bfloat16")
    numberless = {"arange", "eye", "zeros", "ones", "full"}
    cases += [
        (name, dtype)
        for name in OTHERS
        for dtype in (("float32",) if name in numberless else ours if name == "matmul" else ALL)
    ]
    return [pytest.param(*one.values[0], marks=one.marks) for one in one_in(5, cases)]


def _host(dtype: str, seed: int = 0) -> np.ndarray:
    if dtype == "bool":
        return np.array([[True, False, True], [True, True, False]]) ^ bool(seed)
    values = np.array([[1, 2, 3], [4, 1, 2]]) + seed
    if dtype[0] not in "u":
        values = values * np.array([1, -1, 1]) if seed == 0 else values
    found = jax.numpy.dtype(dtype)
    return (values * (0.5 if found.kind not in "iu" else 1)).astype(found)


def _results(name: str, dtype: str, backend: Any) -> list[Any]:
    xp = backend.xp
    device = backend.devices[1]
    with backend.on(device):
        a, b = (backend.put(_host(dtype, seed), device) for seed in (0, 1))
        function = getattr(xp, name)
        if name in BINARY:
            answers = [function(a, b), function(a, _host(dtype, 1)), function(_host(dtype), b)]
            return answers if dtype == "bool" else [*answers, function(a, 2)]
        if name in UNARY:
            return [function(a), function(_host(dtype))]
        if name in REDUCTIONS:
            hows: list[dict[str, Any]] = [{}, {"axis": 0}, {"axis": -1, "keepdims": True}]
            return [function(a, **how) for how in hows + ([] if name == "argmax" else [{"axis": (0, 1)}])]
        return list(OTHERS[name](xp, a))


def test_every_name_of_the_namespace_is_compared_here_or_by_the_kit() -> None:
    compared = {*BINARY, *UNARY, *REDUCTIONS, *OTHERS}
    assert compared | set(functions.CASES) == set(NAMES)


@pytest.mark.filterwarnings("ignore:.*complex.*real.*:Warning")
@pytest.mark.filterwarnings("ignore:Casting complex.*:Warning")
@pytest.mark.filterwarnings("ignore:(invalid value|divide by zero).*:RuntimeWarning")
@pytest.mark.parametrize(("name", "dtype"), _cases())
def test_a_function_agrees_with_the_simulator_and_stays_on_its_device(xla: Any, name: str, dtype: str) -> None:
    sim = ss.backend("sim", replicas=4)
    for wanted, found in zip(_results(name, dtype, sim), _results(name, dtype, xla), strict=True):
        assert xla.spec(found) == (*sim.spec(wanted)[:2], xla.devices[1].placement)
        assert found.committed
        expected, got = sim.get(wanted), xla.get(found)
        tolerance = TOLERANCE.get(str(expected.dtype), 0)
        wide = complex if expected.dtype.kind == "c" else float
        np.testing.assert_allclose(got.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["maximum", "minimum", "max", "min", "argmax", "isnan", "isfinite", "sign", "floor"])
def test_nan_and_infinity_go_where_numpy_sends_them(xla: Any, name: str) -> None:
    values = np.array([1, np.nan, np.inf, -np.inf, -0.0], np.float32)
    arguments = (values, values[::-1].copy()) if name in BINARY else (values,)
    sim = ss.backend("sim")
    wanted = sim.get(getattr(sim.xp, name)(*arguments))
    np.testing.assert_array_equal(xla.get(getattr(xla.xp, name)(*arguments)), wanted)


@pytest.mark.parametrize(
    "value", [3, 2.5, True, [1, 2], [[1.5], [2.0]], 1j, np.float32(2), np.int8(3), np.zeros((0, 2), "f4")]
)
def test_host_data_gets_the_dtype_that_the_simulator_gives_it(xla: Any, value: Any) -> None:
    wanted = ss.backend("sim").xp.asarray(value)
    found = xla.xp.asarray(value)
    assert (found.shape, found.dtype.name) == (wanted.shape, wanted.dtype.name)
    assert not found.weak_type


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex128"])
def test_wide_host_data_is_refused_where_jax_would_truncate_it(xla: Any, dtype: str) -> None:
    wide = np.ones(2, dtype)
    for call in (
        lambda: xla.put(wide, xla.devices[0]),
        lambda: xla.xp.asarray(wide),
        lambda: xla.xp.add(wide, 1),
        lambda: xla.xp.zeros(2, dtype=dtype),
        lambda: xla.xp.astype(xla.xp.ones(2), dtype),
    ):
        with pytest.raises(InvalidArgument, match="x64=True"):
            call()


def test_a_promotion_to_a_wide_integer_is_refused(xla: Any) -> None:
    with pytest.raises(InvalidArgument, match="int64 needs"):
        xla.xp.add(np.ones(2, np.int32), np.ones(2, np.uint32))


def test_a_python_integer_that_does_not_fit_is_refused_as_by_numpy(xla: Any) -> None:
    with pytest.raises(InvalidArgument):
        xla.xp.add(np.ones(2, np.int8), 300)


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_beyond_the_end_is_an_error(xla: Any, index: int) -> None:
    with pytest.raises(InvalidArgument, match="for a size of 3"):
        xla.xp.take(np.zeros((2, 3), np.float32), [0, index], axis=1)


def test_what_is_no_array_is_told_so(xla: Any) -> None:
    with pytest.raises(InvalidArgument, match="rows of equal length"):
        xla.xp.asarray([[1], [2, 3]])
    with pytest.raises(InvalidType, match="got a object: <object object>"):
        xla.xp.asarray(object())
    with pytest.raises(InvalidType, match="integers as indices"):
        xla.xp.take(np.zeros(3, np.float32), [0.5], axis=0)


def test_host_data_is_copied_when_it_is_adopted(xla: Any) -> None:
    host = np.zeros(1 << 16, np.float32)
    adopted = xla.xp.asarray(host)
    host[:] = 1
    assert not np.any(xla.get(adopted))


def test_functions_work_under_jit_and_compute_where_the_arguments_are(xla: Any) -> None:
    xp = xla.xp

    @jax.jit
    def compiled(x: Any) -> Any:
        scaled = xp.multiply(xp.add(x, xp.ones(3)), np.array([1, 2, 3], np.float32))
        return xp.sum(xp.where(xp.greater(scaled, 2), xp.full_like(x, 4), xp.take(x, [0, 1, 2], axis=0)))

    for device in xla.devices[1:3]:
        result = compiled(xla.put(np.array([1, 2, 3], np.float32), device))
        assert xla.spec(result) == ((), "float32", device.placement)
        assert result == 9


def test_an_array_without_a_device_of_its_own_stays_where_it_is(xla: Any) -> None:
    with xla.on(xla.devices[2]):
        loose = jax.numpy.ones(3)
    assert not loose.committed
    assert xla.spec(xla.xp.multiply(loose, 2)).placement == xla.devices[2].placement
    assert xla.spec(xla.xp.add(np.ones(3, np.float32), loose)).placement == xla.devices[2].placement


def test_arrays_of_other_devices_are_moved_to_the_running_replica_and_else_to_the_first(xla: Any) -> None:
    first, second = (xla.put(np.full(3, number, np.float32), xla.devices[number]) for number in range(2))
    places = [device.placement for device in xla.devices]
    with xla.on(xla.devices[2]):
        loose = jax.numpy.ones(3)
        inside = [xla.xp.add(first, second), xla.xp.stack([second, first]), xla.xp.add(second, loose)]
    assert {xla.spec(one)[2] for one in inside} == {places[2]}
    assert xla.spec(xla.xp.add(second, first))[2] == places[1]
    assert xla.get(xla.xp.add(second, first)).tolist() == [1.0, 1.0, 1.0]


def test_jax_itself_refuses_arrays_of_two_devices(xla: Any) -> None:
    first, second = (xla.put(np.ones(3, np.float32), device) for device in xla.devices[:2])
    with pytest.raises(ValueError, match="incompatible devices"):
        _ = first + second


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.zeros(2**62),
        lambda xp: xp.ones((2**31, 2**31, 2**31)),
        lambda xp: xp.full((2**31,) * 3, 1),
        lambda xp: xp.eye(2**31, 2**32),
        lambda xp: xp.tile(xp.ones((2, 3)), (2**31, 2**31)),
        lambda xp: xp.broadcast_to(xp.asarray(1.0), (2**31,) * 3),
    ],
)
def test_more_elements_than_any_memory_are_refused_before_xla_ends_the_process(xla: Any, call: Any) -> None:
    with pytest.raises(InvalidArgument):
        call(xla.xp)
