"""Whole strategy programs on XLA's CPU devices: equal to the simulator's, and differentiable by JAX."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import ReplicasDisagree, Unsupported
from simstrategy.values import select

X = np.arange(22, dtype=np.float32).reshape(11, 2) / 4
Y = np.arange(11, dtype=np.float32)


def _strategy(backend: Any, replicas: int = 4) -> ss.Strategy:
    return ss.Strategy.mirrored(backend, replicas=replicas, checks="strict")


def _train(strategy: ss.Strategy) -> Any:
    """Linear regression by hand; the last batch of 11 rows has 3, so one replica has none."""
    xp = strategy.xp
    with strategy.scope():
        weights = ss.Variable(np.array([0.5, -0.25], np.float32), aggregation=ss.VariableAggregation.SUM)
    dataset = ss.data.Dataset.from_tensor_slices((X, Y)).batch(8)

    def step(batch: Any) -> Any:
        x, y = batch
        error = xp.subtract(xp.matmul(x, weights.value()), y)
        gradient = xp.matmul(xp.permute_dims(x, (1, 0)), error)
        weights.assign_sub(xp.multiply(gradient, 1 / 1024))
        return xp.square(error)

    means = []
    for batch in strategy.experimental_distribute_dataset(dataset):
        losses = strategy.run(step, args=(batch,))
        means.append(strategy.reduce("MEAN", losses, axis=0))
    return [*means, weights.numpy()]


def _merge(strategy: ss.Strategy) -> Any:
    xp = strategy.xp

    def merged(strategy: ss.Strategy, value: Any, other: Any) -> Any:
        total = strategy.reduce("SUM", value, axis=None)
        return total, strategy.extended.broadcast_to(xp.multiply(total, 2)), other

    def replica() -> Any:
        context = ss.get_replica_context()
        rank = context.replica_id_in_sync_group
        mine = context.xp.full((2,), float(rank))
        total, doubled, kept = context.merge_call(merged, args=(mine, context.xp.asarray([rank / 2])))
        return context.all_reduce("MEAN", {"a": doubled, "b": [context.xp.asarray(rank + 0.5), kept]}), total

    return strategy.run(replica)


def _gather(strategy: ss.Strategy) -> Any:
    def replica() -> Any:
        context = ss.get_replica_context()
        rank = context.replica_id_in_sync_group
        return context.all_gather(context.xp.full((rank, 2), rank), 0), context.all_gather(
            context.xp.full((2, 1), rank), -1
        )

    return strategy.run(replica)


def _variables(strategy: ss.Strategy) -> Any:
    with strategy.scope():
        read = ss.Variable(
            np.float32(0), synchronization=ss.VariableSynchronization.ON_READ, aggregation=ss.VariableAggregation.MEAN
        )
        first = ss.Variable([1, 2], aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)
        mean = ss.Variable(np.zeros((2, 2), np.float32), aggregation=ss.VariableAggregation.MEAN)

    def replica() -> Any:
        rank = ss.get_replica_context().replica_id_in_sync_group
        read.assign_add(float(rank))
        first.assign(np.array([rank + 5, rank], np.int32))
        mean.assign_add(np.full((2, 2), rank, np.float32))
        return mean.value()

    values = strategy.run(replica)
    mean.assign_sub(np.ones((2, 2), np.float32))
    return values, read.value(), first.value(), mean.value()


def _flat(strategy: ss.Strategy, nest: Any) -> list[np.ndarray]:
    if isinstance(nest, dict):
        return [one for key in sorted(nest) for one in _flat(strategy, nest[key])]
    if isinstance(nest, (list, tuple)):
        return [one for item in nest for one in _flat(strategy, item)]
    if isinstance(nest, (ss.PerReplica, ss.Mirrored)):
        return [one for item in nest.values for one in _flat(strategy, item)]
    return [np.asarray(nest)]


@pytest.mark.slow
@pytest.mark.parametrize("program", [_train, _merge, _gather, _variables])
@pytest.mark.parametrize("replicas", [1, 4])
def test_a_program_gives_what_it_gives_on_the_simulator(xla: Any, program: Callable[..., Any], replicas: int) -> None:
    backend = xla if replicas == 4 else "xla"
    found_on, wanted_on = _strategy(backend, replicas), _strategy("sim", replicas)
    found, wanted = _flat(found_on, program(found_on)), _flat(wanted_on, program(wanted_on))
    assert [(one.shape, one.dtype) for one in found] == [(one.shape, one.dtype) for one in wanted]
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def _rank() -> int:
    return int(ss.get_replica_context().replica_id_in_sync_group)


def _each(strategy: ss.Strategy, function: Callable[[], Any]) -> list[Any]:
    """Runs a replica function and returns one host result per replica."""
    result = strategy.run(function)
    return [jax.tree.map(np.asarray, select(index, result)) for index in range(strategy.num_replicas_in_sync)]


def _reduced(op: str, order: int = 1) -> Callable[[], Any]:
    def replica() -> Any:
        def loss(x: Any) -> Any:
            total = ss.get_replica_context().all_reduce(op, x * (_rank() + 1.0))
            return jnp.sum(total**2)

        def slope(x: Any) -> Any:
            return jnp.sum(jax.grad(loss)(x))

        return jax.grad(loss if order == 1 else slope)(jnp.ones(2))

    return replica


@pytest.mark.slow
def test_the_gradient_of_a_sum_is_the_sum_of_the_gradients(xla: Any) -> None:
    # total = 1 + 2 + 3 + 4 = 10 in each element; upstream 2 * 10 on four replicas.
    for rank, gradient in enumerate(_each(_strategy(xla), _reduced("SUM"))):
        assert gradient.tolist() == [80.0 * (rank + 1)] * 2


def test_the_gradient_of_a_mean_is_the_mean_of_the_gradients(xla: Any) -> None:
    for rank, gradient in enumerate(_each(_strategy(xla), _reduced("MEAN"))):
        assert gradient.tolist() == [5.0 * (rank + 1)] * 2


@pytest.mark.slow
def test_gradients_of_gradients_meet_as_well(xla: Any) -> None:
    # slope of replica r: 2 * 4 * (r + 1) * total; its total's share of x on replica q: q + 1, summed over r.
    for rank, gradient in enumerate(_each(_strategy(xla), _reduced("SUM", order=2))):
        assert gradient.tolist() == [80.0 * (rank + 1)] * 2


@pytest.mark.slow
def test_one_replica_differentiates_inline(xla: Any) -> None:
    assert _each(_strategy("xla", 1), _reduced("SUM"))[0].tolist() == [2.0, 2.0]
    assert _each(_strategy("xla", 1), _reduced("MEAN", order=2))[0].tolist() == [2.0, 2.0]


@pytest.mark.slow
def test_the_gradient_of_an_uneven_gather_is_this_replicas_part_of_the_sum(xla: Any) -> None:
    def replica() -> Any:
        def loss(x: Any) -> Any:
            whole = ss.get_replica_context().all_gather(x, 1)
            return jnp.sum(whole * jnp.arange(12.0).reshape(2, 6) * (_rank() + 1))

        return jax.grad(loss)(jnp.ones((2, _rank())))

    wanted = np.split(np.arange(12.0).reshape(2, 6) * 10, [0, 1, 3], axis=1)
    for gradient, expected in zip(_each(_strategy(xla), replica), wanted, strict=True):
        np.testing.assert_array_equal(gradient, expected)


@pytest.mark.slow
def test_a_nest_with_integers_has_gradients_where_there_are_floats(xla: Any) -> None:
    def replica() -> Any:
        def loss(nest: Any) -> Any:
            context = ss.get_replica_context()
            counted = context.all_reduce("SUM", {**nest, "n": jnp.argmax(nest["x"]) + _rank(), "i": np.int8(1)})
            return jnp.sum(counted["x"] * counted["n"]) + counted["z"].real * counted["i"], counted["n"]

        nest = {"x": jnp.array([1.0, 2.0]), "z": jnp.asarray(1j)}
        (value, count), gradient = jax.value_and_grad(loss, has_aux=True)(nest)
        return value, count, gradient

    for value, count, gradient in _each(_strategy(xla), replica):
        assert (value, count) == (4 * 3 * 10, 10)
        assert gradient["x"].tolist() == [40, 40]
        assert gradient["z"] == 16


def test_vjp_pulls_back_through_a_collective_more_than_once(xla: Any) -> None:
    def replica() -> Any:
        context = ss.get_replica_context()
        total, pull = jax.vjp(lambda x: context.all_reduce("SUM", x), jnp.float32(_rank()))
        return total, pull(jnp.float32(_rank())), pull(jnp.float32(1))

    assert _each(_strategy(xla), replica) == [(6, (6,), (4,))] * 4


@pytest.mark.slow
def test_a_gradient_stays_on_its_replicas_device_and_reads_variables(xla: Any) -> None:
    strategy = _strategy(xla)
    with strategy.scope():
        weights = ss.Variable(np.ones(2, np.float32), aggregation=ss.VariableAggregation.SUM)

    def replica() -> Any:
        gradient = jax.grad(lambda w: jnp.sum(w**2) * (_rank() + 1))(weights.native)
        weights.assign_sub(gradient / 32)
        return gradient

    gradients = strategy.experimental_local_results(strategy.run(replica))
    assert [xla.spec(one).placement for one in gradients] == [device.placement for device in xla.devices]
    assert weights.numpy().tolist() == [0.375, 0.375]


@pytest.mark.parametrize(
    "transform", [jax.jit, jax.vmap, jax.checkpoint, lambda f: jax.grad(lambda x: jax.jit(f)(x).sum())]
)
def test_a_meeting_inside_a_traced_function_is_refused_by_name(xla: Any, transform: Any) -> None:
    def replica() -> Any:
        context = ss.get_replica_context()
        return transform(lambda x: context.all_reduce("SUM", x) + context.all_gather(x, 0).sum())(jnp.ones((3, 2)))

    with pytest.raises(Unsupported, match=r"outside jax\.jit"):
        _strategy(xla).run(replica)


def test_a_meeting_about_a_constant_inside_jit_is_refused_too(xla: Any) -> None:
    def replica() -> Any:
        constant = jnp.ones(2)
        return jax.jit(lambda x: x + ss.get_replica_context().all_reduce("SUM", constant))(jnp.ones(2))

    with pytest.raises(Unsupported, match="a meeting of replicas"):
        _strategy(xla).run(replica)


@pytest.mark.slow
def test_compiled_parts_run_on_their_replicas_devices(xla: Any) -> None:
    xp = xla.xp
    compiled = jax.jit(jax.value_and_grad(lambda x: xp.sum(xp.multiply(xp.ones(3), xp.square(x)))))
    strategy = _strategy(xla)

    def replica() -> Any:
        value, gradient = compiled(ss.get_replica_context().xp.full((3,), float(_rank())))
        return ss.get_replica_context().all_reduce("SUM", value), gradient

    total, gradients = strategy.run(replica)
    assert [float(one) for one in total.values] == [42.0] * 4
    assert [xla.spec(one).placement for one in gradients.values] == [device.placement for device in xla.devices]


def test_replicas_that_disagree_are_named_and_the_backend_goes_on(xla: Any) -> None:
    strategy = _strategy(xla)

    def replica() -> Any:
        return ss.get_replica_context().all_reduce("SUM", jnp.ones(2 + _rank() // 3))

    with pytest.raises(ReplicasDisagree, match="replica 3"):
        strategy.run(replica)
    assert _each(strategy, _reduced("SUM"))[0].tolist() == [80, 80]
