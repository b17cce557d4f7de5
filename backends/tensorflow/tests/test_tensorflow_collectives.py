"""Ways to combine arrays: copies, TensorFlow's ring between CPUs, NCCL between GPUs, several replicas on one device."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import simstrategy as ss
from simstrategy.device import Backend, Strict
from simstrategy.errors import BackendUnavailable, InvalidArgument

COUNT = 4


def opened(**options: Any) -> Backend:
    return Strict(ss.backend("tensorflow", **options))


def put_all(backend: Backend, arrays: list[Any]) -> tuple[Any, ...]:
    return tuple(backend.put(array, device) for array, device in zip(arrays, backend.devices, strict=True))


def arrays_of(dtype: str, shape: tuple[int, ...] = (37, 3)) -> list[Any]:
    generator = np.random.default_rng(0)
    return [generator.integers(-10, 10, size=shape).astype(dtype) for _ in range(COUNT)]


@pytest.fixture(scope="module")
def ring() -> Backend:
    return opened(replicas=COUNT, communication="ring")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "int8", "bfloat16", "complex64"])
def test_the_ring_gives_every_device_the_whole_sum(ring: Backend, dtype: str) -> None:
    arrays = arrays_of("float32" if dtype == "bfloat16" else dtype)
    if dtype == "bfloat16":
        arrays = [array.astype(tf.bfloat16.as_numpy_dtype) for array in arrays]
    for op, fold in (("SUM", np.add), ("MAX", np.maximum)):
        if op == "MAX" and dtype == "complex64":
            continue
        expected = fold.reduce([array.astype("float64") if array.dtype.kind == "f" else array for array in arrays])
        for result in ring.all_reduce(put_all(ring, arrays), op):  # type: ignore[arg-type]
            assert ring.get(result).astype(expected.dtype).tolist() == expected.tolist()


@pytest.mark.slow
def test_the_ring_reduces_to_one_device_and_takes_scalars_and_nothing(ring: Backend) -> None:
    for shape in ((), (0,), (1,), (5, 0)):
        total = ring.reduce(put_all(ring, arrays_of("float32", shape)), "SUM", root=2)
        assert ring.get(total).tolist() == np.add.reduce(arrays_of("float32", shape)).tolist()


@pytest.mark.slow
def test_a_program_on_the_ring_equals_one_that_copies_eager_and_traced_in_a_loop() -> None:
    def program(communication: str, *, traced: bool) -> Any:
        strategy = ss.Strategy.mirrored(ss.backend("tensorflow", replicas=COUNT, communication=communication))

        def step(x: Any) -> Any:
            context = ss.get_replica_context()
            assert context is not None
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = context.all_reduce("SUM", x * (context.replica_id_in_sync_group + 1.0))
            return context.all_reduce("MEAN", tape.gradient(y, x)) + y

        def loop(x: Any) -> Any:
            total = tf.zeros(3)
            for _ in tf.range(3):
                total += strategy.reduce("SUM", strategy.run(step, (x,)))
            return total

        return (tf.function(loop) if traced else loop)(tf.constant([1.0, 2.0, 4.0])).numpy().tolist()

    expected = program("copy", traced=False)
    assert [program("ring", traced=traced) for traced in (False, True)] == [expected] * 2


def test_collectives_promise_no_bits_and_copies_do(ring: Backend) -> None:
    assert not ring.capabilities.reproducible_bits
    assert opened(replicas=COUNT).capabilities.reproducible_bits


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "graph"])
@pytest.mark.parametrize("op", ["SUM", "MEAN"])
@pytest.mark.parametrize("count", [3, 9, 12, 18])
def test_copies_add_in_rank_order_and_divide_once_in_a_graph_too(count: int, op: str, *, traced: bool) -> None:
    generator = np.random.default_rng(count)
    scales = 10.0 ** generator.integers(-4, 5, (count, 50))
    arrays = [one.astype("float32") for one in generator.standard_normal((count, 50)) * scales]
    strategy = ss.Strategy.mirrored(ss.backend("tensorflow", devices=[f"CPU:{rank % 2}" for rank in range(count)]))

    def replica(x: Any) -> Any:
        context = ss.get_replica_context()
        assert context is not None
        # The optimizer of graphs sorts what it adds by name.
        return context.all_reduce(op, tf.multiply(x, 2.0, name=f"z{97 - context.replica_id_in_sync_group}"))

    def step(x: Any) -> Any:
        return strategy.run(replica, args=(x,))

    total = 2 * arrays[0]
    for array in arrays[1:]:
        total = total + 2 * array
    expected = total / np.float32(count) if op == "MEAN" else total
    given = ss.PerReplica([tf.constant(array) for array in arrays])
    for found in (tf.function(step) if traced else step)(given).values:
        assert found.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("divisor", [3.0, np.float32(7), np.float32([3, 7, 11])])
def test_a_graph_divides_by_a_constant_as_eager_code_does(divisor: Any) -> None:
    x = np.arange(1, 1000, dtype="float32").reshape(-1, 3)
    xp = opened(replicas=1).xp
    for given in (x, (x + 1j * x).astype("complex64")):
        eager = xp.divide(tf.constant(given), divisor).numpy()
        assert tf.function(lambda y: xp.divide(y, divisor))(tf.constant(given)).numpy().tobytes() == eager.tobytes()


def test_several_replicas_live_on_one_device() -> None:
    strategy = ss.Strategy.mirrored(ss.backend("tensorflow", devices=["CPU:0"] * 3))
    with strategy.scope():
        v = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    def step() -> Any:
        context = ss.get_replica_context()
        assert context is not None
        v.assign_add(context.replica_id_in_sync_group + 1.0)
        return context.all_gather(tf.fill([1], v.read_value()), 0)

    assert [one.numpy().tolist() for one in strategy.run(step).values] == [[7.0] * 3] * 3
    assert len(set(strategy.extended.worker_devices)) == 1


def test_what_cannot_be_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidArgument, match="communication is one of 'auto', 'nccl', 'ring', 'copy', not 'mpi'"):
        ss.backend("tensorflow", communication="mpi")
    with pytest.raises(BackendUnavailable, match="communication='nccl' works between GPUs, and the devices are CPU:0"):
        ss.backend("tensorflow", communication="nccl")
    with pytest.raises(InvalidArgument, match="needs a different device for each replica, got CPU:0, CPU:0"):
        ss.backend("tensorflow", devices=["CPU:0"] * 2, communication="ring")


GPUS = tf.config.list_physical_devices("GPU")


@pytest.mark.skipif(not GPUS, reason="needs a GPU that TensorFlow sees")
def test_replicas_share_a_gpu() -> None:
    backend = opened(devices=["GPU:0"] * COUNT)
    totals = backend.all_reduce(put_all(backend, arrays_of("float32")), "SUM")
    assert all(backend.get(total).tolist() == np.add.reduce(arrays_of("float32")).tolist() for total in totals)


@pytest.mark.skipif(len(GPUS) < 2, reason="needs two GPUs that TensorFlow sees, for NCCL")
def test_nccl_sums_between_gpus() -> None:
    backend = opened(devices=["GPU:0", "GPU:1"])
    arrays = arrays_of("float32")[:2]
    for total in backend.all_reduce(put_all(backend, arrays), "SUM"):
        np.testing.assert_allclose(backend.get(total), arrays[0] + arrays[1], rtol=1e-6)
