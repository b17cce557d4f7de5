"""TensorFlow's tapes through collectives, and programs inside a tf.function."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from vocabulary import ctx, mirrored_on, rank

import simstrategy as ss
from simstrategy.errors import CannotCompile, InvalidType, ReplicasDisagree
from simstrategy.strategy import group_of
from simstrategy_tensorflow.autodiff import TensorFlowAutodiff

COUNT = 3


@pytest.fixture
def strategy() -> ss.Strategy:
    return mirrored_on("tensorflow", COUNT)


def test_gradients_of_an_all_reduced_nest_leave_integers_alone(strategy: ss.Strategy) -> None:
    def step() -> Any:
        context, number = ctx(), rank()
        x, unused = tf.constant([1.0, 2.0]), tf.constant(1.0, tf.float64)
        with tf.GradientTape() as tape:
            tape.watch([x, unused])
            summed = context.all_reduce("SUM", {"a": x * x, "n": tf.constant(number), "u": unused})
            mean = context.all_reduce("MEAN", (summed["a"], tf.constant([number])))
            loss = (number + 1.0) * tf.reduce_sum(mean[0])
        return summed["n"], mean[1], *tape.gradient(loss, [x, unused], unconnected_gradients="zero")

    count, integers, gradient, nothing = strategy.run(step)
    assert [one.numpy() for one in count.values] == [3] * COUNT
    assert [(one.numpy().tolist(), one.dtype) for one in integers.values] == [([1.0], tf.float64)] * COUNT
    # d/dx of the sum of all replicas' losses (6 times the mean of 3 x²): MEAN hands 2 back, SUM 6, times 2 x.
    assert [one.numpy().tolist() for one in gradient.values] == [[12.0, 24.0]] * COUNT
    assert [one.numpy() for one in nothing.values] == [0.0] * COUNT


@pytest.mark.parametrize("replicas", [1, COUNT])
def test_second_derivatives_go_through_collectives(replicas: int) -> None:
    def step() -> Any:
        context, x = ctx(), tf.constant([1.0, 2.0])
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(context.all_reduce("SUM", x * x) ** 2)
            (gradient,) = inner.gradient(loss, [x])
            total = tf.reduce_sum(gradient)
        return outer.gradient(total, x)

    second = mirrored_on("tensorflow", replicas).run(step)
    # All losses: n (n x²)² = n³ x⁴; each replica's x is 1/n of the change, twice.
    expected = [12.0 * replicas**2, 48.0 * replicas**2]
    assert all(one.numpy().tolist() == expected for one in (second.values if replicas > 1 else (second,)))


def test_a_gradient_of_slices_is_sent_backward_as_an_array() -> None:
    sent: list[Any] = []

    def backward(arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        sent.extend(arrays)
        return arrays

    x = tf.ones(4)
    with tf.GradientTape() as tape:
        tape.watch(x)
        (result,) = TensorFlowAutodiff().differentiable(tuple, backward, (x,))
        loss = tf.reduce_sum(tf.gather(result, [1, 1]))
    assert tape.gradient(loss, x).numpy().tolist() == [0, 2, 0, 0]
    assert all(isinstance(one, tf.Tensor) for one in sent)


def test_a_tape_finds_the_gradient_of_a_variable(strategy: ss.Strategy) -> None:
    with strategy.scope():
        weights = ss.Variable(np.float32([2.0, 3.0]), aggregation=ss.VariableAggregation.MEAN)

    def step() -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(weights.value() ** 2) * (rank() + 1.0)
        gradient = tape.gradient(loss, weights.native)
        weights.assign_sub(gradient)
        return gradient

    assert [one.numpy().tolist() for one in strategy.run(step).values] == [[4, 6], [8, 12], [12, 18]]
    assert weights.numpy().tolist() == [2 - 8, 3 - 12]


def test_results_are_on_their_replicas_devices(strategy: ss.Strategy) -> None:
    results = strategy.run(lambda: (ctx().all_reduce("SUM", tf.ones(2)), tf.zeros(2), ctx().xp.ones(2)))
    for result in results:
        assert [one.device for one in result.values] == list(strategy.extended.worker_devices)


# Inside a tf.function.

with_function = pytest.mark.parametrize("autograph", [False, True])


def reduced(x: Any) -> Any:
    return ctx().all_reduce("SUM", x * (rank() + 1.0))


def branching(x: Any) -> Any:
    if tf.reduce_sum(x) > 0.0:
        x = x * 2.0
    return ctx().all_reduce("SUM", x)


def traced(strategy: ss.Strategy, function: Callable[..., Any], *, autograph: bool) -> Any:
    def program(*arguments: Any) -> Any:
        return strategy.experimental_local_results(strategy.run(function, args=arguments))

    return tf.function(program, autograph=autograph)


@pytest.mark.slow
@with_function
def test_a_tf_function_runs_replicas_and_is_traced_once(strategy: ss.Strategy, autograph: bool) -> None:
    program = traced(strategy, reduced, autograph=autograph)
    for scale in (1.0, 2.0):
        assert [one.numpy().tolist() for one in program(tf.constant([scale, 0.0]))] == [[6 * scale, 0]] * COUNT
    assert program.experimental_get_tracing_count() == 1


@pytest.mark.slow
def test_a_replica_function_is_converted_where_the_function_around_it_is(strategy: ss.Strategy) -> None:
    program = traced(strategy, branching, autograph=True)
    assert [program(tf.constant([value]))[0].numpy().tolist() for value in (1.0, -1.0)] == [[6.0], [-3.0]]
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError, match="symbolic"):
        traced(strategy, branching, autograph=False)(tf.constant([1.0]))


@pytest.mark.slow
def test_lanes_of_a_traced_program_keep_to_their_devices(strategy: ss.Strategy) -> None:
    placements: list[list[str]] = [[] for _ in range(COUNT)]

    def step(x: Any) -> Any:
        number = rank()
        placements[number].append((x + 1.0).device)
        x = ctx().all_reduce("SUM", x)
        placements[number].append((x + 1.0).device)
        return x

    traced(strategy, step, autograph=False)(tf.ones(2))
    assert placements == [[device.placement] * 2 for device in group_of(strategy).backend.devices]


@pytest.mark.slow
def test_variables_and_gradients_work_in_a_traced_program(strategy: ss.Strategy) -> None:
    with strategy.scope():
        weights = ss.Variable(np.float32([1.0, 2.0]), aggregation=ss.VariableAggregation.SUM)

    def step(x: Any) -> Any:
        xp = ctx().xp
        with tf.GradientTape() as tape:
            loss = xp.sum(ctx().all_reduce("SUM", xp.multiply(weights.value(), x)))
        gradient = tape.gradient(loss, weights.native)
        weights.assign_sub(gradient)
        return gradient

    program = traced(strategy, step, autograph=False)
    for _ in range(2):
        assert [one.numpy().tolist() for one in program(tf.constant([1.0, 0.5]))] == [[3.0, 1.5]] * COUNT
    assert weights.numpy().tolist() == [1.0 - 2 * 9, 2.0 - 2 * 4.5]


def test_disagreement_in_a_converted_replica_function_names_the_users_line(strategy: ss.Strategy) -> None:
    def program() -> Any:
        return strategy.run(disagreeing)

    with pytest.raises(ReplicasDisagree, match=r"float32\[2\] at .*test_tensorflow_strategy.py"):
        tf.function(program, autograph=False)()


def disagreeing() -> Any:
    return ctx().all_reduce("SUM", tf.ones(1 + rank()))


def test_a_symbol_has_no_value_to_get(strategy: ss.Strategy) -> None:
    with pytest.raises(InvalidType, match="read it outside"):
        tf.function(group_of(strategy).backend.get, autograph=False)(tf.ones(2))


def test_what_replicas_hold_is_compared_after_a_compiled_function_and_not_while_it_is_traced(
    strategy: ss.Strategy,
) -> None:
    def compares() -> None:
        ctx().require_equal(tf.ones(2))

    strategy.run(lambda: ctx().require_equal({"a": tf.ones(2), "b": tf.Variable(1.0)}))
    with pytest.raises(CannotCompile, match="an array has none while a framework traces"):
        tf.function(lambda: strategy.run(compares), autograph=False)()
    held = [tf.constant(1.0) for _ in range(COUNT)]
    strategy.require_equal_after_run("held", lambda: ss.PerReplica(held))
    step = tf.function(lambda: tf.ones(2), autograph=False)
    strategy.run(step)
    held[1] = tf.constant(2.0)
    with pytest.raises(ReplicasDisagree, match=r"require_equal 'held' found unequal values"):
        strategy.run(step)
