"""Compiled steps that StableHLO's reference interpreter runs: to compare with XLA.  Clauses: P-11."""

import os

import jax
import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import BackendUnavailable, InvalidArgument, Unsupported
from simstrategy_xla.reference.interpreter import ranks_max

REPLICAS = 2
pytestmark = pytest.mark.skipif(
    ranks_max() < REPLICAS, reason="StableHLO's interpreter runs a replica on each processor, and there is one"
)
ROWS = [np.float32([1, 5, 3]), np.float32([0.25, 7, -1])]
BITS = [np.array([True, False]), np.array([False, False])]
NONE = [np.zeros((0, 2), np.float32)] * REPLICAS


@pytest.fixture(scope="module")
def interpreted():
    backend = ss.backend("xla", replicas=REPLICAS, interpreted=True)
    yield ss.Strategy.mirrored(backend)
    backend.close()


def ctx():
    return ss.get_replica_context()


def summed(x, bits, none):
    return ctx().all_reduce("SUM", {"x": x, "none": none, "of one": ctx().xp.sum(x)})


def averaged(x, bits, none):
    return ctx().all_reduce("MEAN", [x, x * x])


def gathered(x, bits, none):
    return ctx().all_gather(x, 0), ctx().all_gather(ctx().xp.astype(bits, "int32"), 0)


def of_other_dtypes(x, bits, none):
    xp = ctx().xp
    return xp.astype(x, "bfloat16") + 1, xp.any(bits), xp.astype(x, "float16"), xp.astype(xp.abs(x), "uint8")


def computed(x, bits, none):
    xp = ctx().xp
    product = xp.matmul(xp.reshape(x, (3, 1)), xp.reshape(x, (1, 3)))
    return xp.exp(x), xp.tanh(x), xp.sort(x), product, xp.where(x > 2, x, -x), jax.scipy.special.erf(x)


def of_its_rank(x, bits, none):
    return x * ctx().replica_id_in_sync_group


def twice(x, bits, none):
    return ctx().all_reduce("SUM", ctx().all_reduce("SUM", x) * x)


def merged(x, bits, none):
    return ctx().merge_call(lambda strategy, value: strategy.reduce("SUM", value), args=(x,))


def of_no_argument(x, bits, none):
    return ctx().xp.ones((2,)), ctx().all_reduce("SUM", ctx().xp.ones(3))


STEPS = [of_no_argument, summed, averaged, gathered, of_other_dtypes, computed, of_its_rank, twice, merged]


@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.__name__)
def test_lanes_xla_and_the_interpreter_agree(step, interpreted):
    by_xla = ss.Strategy.mirrored("xla", replicas=REPLICAS)
    args = tuple(map(ss.PerReplica, (ROWS, BITS, NONE)))
    results = [
        by_xla.run(step, args),
        by_xla.run(by_xla.compile(step), args),
        interpreted.run(interpreted.compile(step), args),
    ]
    leaves = [map(by_xla.experimental_local_results, jax.tree.leaves(one)) for one in results]
    lanes, compiled, reference = [[np.asarray(one) for parts in values for one in parts] for values in leaves]
    if step is merged:  # one object for all replicas, where it is not compiled: P-2
        lanes *= REPLICAS
    assert len(lanes) == len(compiled) == len(reference) > 0
    for one, two, three in zip(lanes, compiled, reference, strict=True):
        assert one.dtype == two.dtype == three.dtype
        assert one.shape == two.shape == three.shape
        wide = [np.asarray(each, np.float64) for each in (one, two, three)]
        np.testing.assert_allclose(wide[0], wide[2], rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(wide[1], wide[2], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("sums", [False, True])
def test_a_step_that_returns_nothing_runs(sums, interpreted):
    def step(x, bits, none):
        if sums:
            ctx().all_reduce("SUM", x)
        return ()

    assert interpreted.run(interpreted.compile(step), tuple(map(ss.PerReplica, (ROWS, BITS, NONE)))) == ()


def test_variables_are_written_in_every_step(interpreted):
    strategy = interpreted
    with strategy.scope():
        total = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM)
        kept = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.MEAN)

    def step(x):
        total.assign_add(x)
        kept.assign(ctx().xp.sum(x))
        return kept.value()

    compiled = strategy.compile(step)
    for _ in range(3):
        last = strategy.run(compiled, (ss.PerReplica(ROWS),))
    np.testing.assert_array_equal(total.numpy(), 3 * (ROWS[0] + ROWS[1]))
    assert kept.numpy() == last.values[0] == np.float32(7.625)


def test_a_collective_in_a_loop_is_refused_since_the_interpreter_repeats_its_first_result(interpreted):
    def step(x):
        return jax.lax.fori_loop(0, 3, lambda _, value: ctx().all_reduce("SUM", value), x)

    strategy = interpreted
    with pytest.raises(Unsupported, match="its all_reduce comes again, in a loop"):
        strategy.run(strategy.compile(step), (ss.PerReplica(ROWS),))


def test_an_operation_that_the_interpreter_does_not_have_is_named_and_the_next_step_runs(interpreted):
    strategy = interpreted
    squares = ss.PerReplica([np.eye(2, dtype=np.float32)] * REPLICAS)
    with pytest.raises(Unsupported, match=r"cannot run this compiled step: .*custom_call"):
        strategy.run(strategy.compile(lambda x: jax.numpy.linalg.qr(x)[1]), (squares,))
    results = strategy.run(strategy.compile(lambda x: x * 2), (squares,))
    np.testing.assert_array_equal(results.values[1], 2 * np.eye(2))


def test_more_replicas_than_processors_are_refused():
    with pytest.raises(BackendUnavailable, match=rf"on a processor of its own, and this process has {ranks_max()}"):
        ss.backend("xla", replicas=ranks_max() + 1, interpreted=True)


def test_replicas_that_share_a_device_are_refused():
    device = str(jax.devices()[0])
    with pytest.raises(InvalidArgument, match="takes one device for each replica"):
        ss.backend("xla", devices=[device] * REPLICAS, interpreted=True)


def test_close_ends_the_process_of_the_interpreter():
    backend = ss.backend("xla", replicas=REPLICAS, interpreted=True)
    strategy = ss.Strategy.mirrored(backend)
    strategy.run(strategy.compile(lambda x: x + 1), (ss.PerReplica(ROWS),))
    process = backend.compilation._interpreter._process.pid
    os.kill(process, 0)
    backend.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
