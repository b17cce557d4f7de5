"""TensorFlow's collectives, cells and opening: equal to the simulator to the bit, and true to the contract."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import BackendUnavailable, InvalidArgument, InvalidType

COUNT = 5
DTYPES = sorted(ss.backend("tensorflow").capabilities.dtypes - {"bfloat16"})


def opened(name: str) -> Backend:
    return Strict(ss.backend(name, replicas=COUNT))


@pytest.fixture(scope="module")
def backend() -> Backend:
    return opened("tensorflow")


@pytest.fixture(scope="module")
def sim() -> Backend:
    return opened("sim")


def put_all(backend: Backend, arrays: list[Any]) -> tuple[Any, ...]:
    return tuple(backend.put(array, device) for array, device in zip(arrays, backend.devices, strict=True))


def random_arrays(seed: int, dtype: str = "float32", shape: tuple[int, ...] = (37, 3)) -> list[Any]:
    generator = np.random.default_rng(seed)
    return (
        [(generator.normal(size=shape) * 10).astype(np.int64).astype(dtype) for _ in range(COUNT)]
        if (np.dtype(dtype).kind in "iu")
        else [(generator.normal(size=shape) * 10.0 ** generator.integers(-3, 4)).astype(dtype) for _ in range(COUNT)]
    )


def assert_same_bits(expected: Any, got: Any) -> None:
    assert (got.dtype, got.shape, got.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


@pytest.mark.parametrize("dtype", [dtype for dtype in DTYPES if dtype != "bool"])
@pytest.mark.parametrize("op", ["SUM", "MIN", "MAX"])
def test_all_reduce_and_reduce_equal_the_simulator_to_the_bit(
    sim: Backend, backend: Backend, op: Any, dtype: str
) -> None:
    if dtype.startswith("complex") and op != "SUM":
        pytest.skip("complex numbers have no order")
    for seed in range(3):
        arrays = random_arrays(seed, dtype)
        expected = sim.get(sim.all_reduce(put_all(sim, arrays), op)[0])
        for result in backend.all_reduce(put_all(backend, arrays), op):
            assert_same_bits(expected, backend.get(result))
        assert_same_bits(expected, backend.get(backend.reduce(put_all(backend, arrays), op, root=3)))


def test_all_gather_joins_arrays_of_different_sizes(sim: Backend, backend: Backend) -> None:
    arrays = [np.full((2, size), size, np.float32) for size in range(COUNT)]
    sizes = tuple(range(COUNT))
    expected = sim.get(sim.all_gather(put_all(sim, arrays), axis=1, sizes=sizes)[0])
    for result in backend.all_gather(put_all(backend, arrays), axis=1, sizes=sizes):
        assert_same_bits(expected, backend.get(result))


def test_broadcast_sends_the_roots_array_to_every_device(backend: Backend) -> None:
    array = backend.put(np.arange(3, dtype=np.int16), backend.devices[4])
    results = backend.broadcast(array, spec=backend.spec(array), root=4)
    assert [backend.spec(result).placement for result in results] == [device.placement for device in backend.devices]
    assert all(backend.get(result).tolist() == [0, 1, 2] for result in results)


def test_one_process_exchanges_notes_with_itself(backend: Backend) -> None:
    assert backend.exchange(b"note", timeout_s=1.0) == (b"note",)
    backend.synchronize()
    backend.close()
    backend.close()


@pytest.mark.parametrize("dtype", DTYPES)
def test_put_and_get_keep_every_dtype_and_copy(backend: Backend, dtype: str) -> None:
    host = np.ones((64, 64), dtype)
    array = backend.put(host, backend.devices[1])
    host[:] = 0
    fresh = backend.get(array)
    assert fresh.all()
    assert fresh.dtype == dtype
    fresh[:] = 0
    assert backend.get(array).all()
    assert backend.get(backend.put(np.ones((), dtype), backend.devices[0])).shape == ()


def test_put_takes_the_other_byte_order_and_refuses_what_is_no_number(backend: Backend) -> None:
    assert backend.get(backend.put(np.array([1, 2], ">i4"), backend.devices[0])).tolist() == [1, 2]
    with pytest.raises(InvalidArgument, match="no dtype"):
        backend.put(np.array(["a"]), backend.devices[0])
    with pytest.raises(InvalidType, match="got a list"):
        ss.backend("tensorflow").put([1], backend.devices[0])


def test_what_was_read_from_a_cell_outlives_every_kind_of_write(backend: Backend) -> None:
    cell = backend.cell(backend.put(np.ones(3, np.float32), backend.devices[2]))
    with backend.on(backend.devices[1]):
        first = cell.read()
    assert backend.spec(first).placement == backend.devices[2].placement
    cell.native.assign_add([1.0, 1.0, 1.0])
    second = cell.read()
    cell.native.scatter_nd_update([[0]], [9.0])
    third = cell.read()
    cell.write(backend.put(np.zeros(3, np.float32), backend.devices[2]))
    assert [backend.get(value).tolist() for value in (first, second, third)] == [[1, 1, 1], [2, 2, 2], [9, 2, 2]]
    assert backend.get(cell.read()).tolist() == [0, 0, 0]


def test_a_cell_does_not_alias_its_initial_value(backend: Backend) -> None:
    initial = backend.put(np.ones(3, np.float32), backend.devices[0])
    backend.cell(initial).native.assign_add([1.0, 1.0, 1.0])
    assert backend.get(initial).tolist() == [1, 1, 1]


def test_a_variable_of_tensorflow_is_read_when_it_is_put_on_a_device(backend: Backend) -> None:
    variable = tf.Variable([1.0, 2.0])
    assert backend.spec(variable) == ((2,), "float32", "a variable")
    put = backend.put(variable, backend.devices[1])
    variable.assign([3.0, 4.0])
    assert (backend.get(put).tolist(), backend.spec(put)[2]) == ([1.0, 2.0], backend.devices[1].placement)


def test_sums_and_products_of_matrices_give_the_same_bits_every_time() -> None:
    xp = ss.backend("tensorflow").xp
    values = xp.asarray(np.random.default_rng(0).normal(size=(300, 257)).astype(np.float32))
    results = {
        (xp.sum(values).numpy().tobytes(), xp.matmul(values, xp.permute_dims(values, (1, 0))).numpy().tobytes())
        for _ in range(20)
    }
    assert len(results) == 1


def test_devices_may_be_named_and_shared() -> None:
    backend = ss.backend("tensorflow", devices=["CPU:3", "CPU:1", "CPU:1"])
    assert [device.placement[-5:] for device in backend.devices] == ["CPU:3", "CPU:1", "CPU:1"]
    assert backend.spec(backend.xp.zeros(2)).placement.endswith("CPU:3")
    strategy = ss.Strategy.mirrored(backend)
    assert strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.0)).values[2].numpy() == 3


@pytest.mark.parametrize(
    "options", [{"replicas": 0}, {"replicas": True}, {"devices": []}, {"devices": ["CPU:0"], "replicas": 2}]
)
def test_impossible_numbers_of_devices_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        ss.backend("tensorflow", **options)


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(BackendUnavailable, match="TPU:7"):
        ss.backend("tensorflow", devices=["TPU:7"])
