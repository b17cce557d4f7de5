"""JAX's transformations of programs with collectives, beyond the first derivatives that `tests/` asks for."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import CannotCompile, ReplicasDisagree, Unsupported
from simstrategy.values import select


def _strategy(backend: Any, replicas: int = 4) -> ss.Strategy:
    return ss.Strategy.mirrored(backend, replicas=replicas, checks="strict")


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
def test_gradients_of_gradients_meet_as_well(xla: Any) -> None:
    # slope of replica r: 2 * 4 * (r + 1) * total; its total's share of x on replica q: q + 1, summed over r.
    for rank, gradient in enumerate(_each(_strategy(xla), _reduced("SUM", order=2))):
        assert gradient.tolist() == [80.0 * (rank + 1)] * 2


@pytest.mark.slow
def test_one_replica_differentiates_inline(xla: Any) -> None:
    assert _each(_strategy("xla", 1), _reduced("SUM"))[0].tolist() == [2.0, 2.0]
    assert _each(_strategy("xla", 1), _reduced("MEAN", order=2))[0].tolist() == [2.0, 2.0]


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

    with pytest.raises(Unsupported, match="a collective of replicas"):
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


def test_what_replicas_hold_is_compared_after_a_compiled_step_and_not_in_it(xla: Any) -> None:
    strategy = _strategy(xla)
    held = [0, 0, 0, 0]
    strategy.require_equal_after_run("held", lambda: ss.PerReplica(held))
    step = strategy.compile(lambda: ss.get_replica_context().all_reduce("SUM", jnp.ones(2)))
    strategy.run(step)
    held[2] = 1
    with pytest.raises(
        ReplicasDisagree, match=r"require_equal 'held' .*\n  replica 0: int, 0 .*\n  replica 2: int, 1 "
    ):
        strategy.run(step)
    compares = strategy.compile(lambda: ss.get_replica_context().require_equal(jnp.ones(2)))
    with pytest.raises(CannotCompile, match=r"A compiled step calls require_equal at test_xla_strategy\.py"):
        strategy.run(compares)


def test_a_value_that_was_read_is_no_variable(xla: Any) -> None:
    """An array of JAX never changes, so a cell's native object is what is read: both are the value, as elsewhere."""
    strategy = _strategy(xla)
    with strategy.scope():
        variable = ss.Variable(np.zeros(2, np.float32))
    container = strategy.extended.value_container
    for value in (variable.value(), *strategy.experimental_local_results(variable)):
        assert container(value) is value
    assert container(variable) is variable
    assert all(
        container(part) is variable for part in strategy.extended.update(variable, lambda part: part, group=False)
    )
