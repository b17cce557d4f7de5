"""What TensorFlow has besides the contract, which the conformance kit examines: native writes, devices by name."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import BackendUnavailable, InvalidArgument

COUNT = 5


def opened(name: str) -> Backend:
    return Strict(ss.backend(name, replicas=COUNT))


@pytest.fixture(scope="module")
def backend() -> Backend:
    return opened("tensorflow")


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
