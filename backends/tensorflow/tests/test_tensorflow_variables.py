"""Plain tf.Variables made in a scope: in operations, in tapes, assigned by the rules, beside MirroredStrategy's.

Clauses: F-1.
"""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from beside import COUNT, theirs
from vocabulary import rank

import simstrategy as ss
from simstrategy.check.check import run_here
from simstrategy.errors import InvalidArgument, MirroredDiverged, ReplicasDisagree, Unsupported
from simstrategy_tensorflow.variables import DistributedVariable


def ours(**settings: Any) -> ss.Strategy:
    return ss.Strategy.mirrored("tensorflow", replicas=COUNT, semantics=ss.Semantics.TF2, **settings)


@pytest.fixture
def strategy() -> ss.Strategy:
    return ours()


def test_a_plain_variable_in_a_scope_is_the_strategys(strategy: ss.Strategy) -> None:
    outside = tf.Variable(1.0)
    with strategy.scope():
        inside = tf.Variable([1.0, 2.0], name="w", aggregation=tf.VariableAggregation.MEAN, trainable=False)
        counted = tf.Variable(0, synchronization=tf.VariableSynchronization.ON_READ, dtype=tf.int64)
    assert not isinstance(outside, DistributedVariable)
    assert isinstance(inside, tf.Variable)
    assert (inside.name, inside.shape, inside.dtype, inside.trainable) == ("w:0", (2,), tf.float32, False)
    assert (counted.dtype, counted.trainable, counted.synchronization.name) == (tf.int64, False, "ON_READ")
    assert inside.aggregation is tf.VariableAggregation.MEAN
    assert [one.device for one in strategy.experimental_local_results(inside)] == list(strategy.extended.worker_devices)


def test_operations_take_it_for_a_tensor(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert (v + 1.0).numpy().tolist() == [[2, 3], [4, 5]]
    assert (2.0 - v).numpy().tolist() == [[1, 0], [-1, -2]]
    assert v[1].numpy().tolist() == [3, 4]
    assert tf.matmul(v, v).numpy().tolist() == [[7, 10], [15, 22]]
    assert tf.gather(v, [1]).numpy().tolist() == [[3, 4]]
    assert np.asarray(v).tolist() == [[1, 2], [3, 4]]
    assert tf.function(lambda: tf.reduce_sum(v))().numpy() == 10


def test_a_component_is_read_in_its_own_replica(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)

    def step() -> Any:
        v.assign_add(rank() + 1.0)
        return v * 1.0

    assert [one.numpy() for one in strategy.run(step).values] == [1.0, 2.0]
    assert v.numpy() == 3.0


AGGREGATIONS = ["SUM", "MEAN", "ONLY_FIRST_REPLICA"]


@pytest.mark.parametrize("call", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_assignments_follow_the_aggregation_as_mirrored_strategys_do(aggregation: str, call: str) -> None:
    def component(strategy: Any, distribute: Any) -> Any:
        with strategy.scope():
            v = tf.Variable(1.0, aggregation=tf.VariableAggregation[aggregation])

        def step() -> Any:
            context = distribute.get_replica_context()
            getattr(v, call)(tf.cast(context.replica_id_in_sync_group, tf.float32) + 1.0)
            return v.read_value()

        inside = [one.numpy() for one in strategy.experimental_local_results(strategy.run(step))]
        getattr(v, call)(6.0)
        return inside, v.numpy()

    assert component(ours(), ss) == component(theirs(), tf.distribute)


def test_a_tape_watches_it_and_finds_its_gradient(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable([2.0, 3.0], aggregation=tf.VariableAggregation.SUM)
        still = tf.Variable(5.0, trainable=False)

    def step() -> Any:
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_sum(v * v) * (rank() + 1.0) * still
        assert tape.gradient(loss, still) is None
        return tape.gradient(loss, v), tape.gradient(loss, {"v": v})["v"]

    for gradient in strategy.run(step):
        assert [one.numpy().tolist() for one in gradient.values] == [[20.0, 30.0], [40.0, 60.0]]


def test_a_tape_may_be_told_to_watch_it(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable(3.0, trainable=False)

    def step() -> Any:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            loss = v * v
        return tape.gradient(loss, v)

    assert [one.numpy() for one in strategy.run(step).values] == [6.0, 6.0]


def test_it_is_an_argument_of_collectives_and_of_other_variables(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable(2.0, aggregation=tf.VariableAggregation.SUM)
        w = tf.Variable(v)
    context = ss.get_replica_context
    assert [one.numpy() for one in strategy.run(lambda: context().all_reduce("SUM", v)).values] == [4.0, 4.0]  # type: ignore[union-attr]
    w.assign_add(v)
    assert (w.numpy(), strategy.reduce("MEAN", v).numpy()) == (4.0, 2.0)


def test_host_data_is_taken_in_the_variables_dtype_as_tensorflow_takes_it(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
    assert v.assign(np.array([3, 4])).assign_add([1, 1]).numpy().tolist() == [4.0, 5.0]
    with pytest.raises(InvalidArgument, match=r"got float32\[3\], and the variable is float32\[2\]"):
        v.assign([1.0, 2.0, 3.0])


def test_replicas_make_variables_together_in_a_run_and_in_a_tf_function(strategy: ss.Strategy) -> None:
    made: list[Any] = [None, None]

    def step(x: Any) -> Any:
        if made[rank()] is None:
            made[rank()] = tf.Variable(tf.ones(2), aggregation=tf.VariableAggregation.SUM, name="made")
        made[rank()].assign_add(x)
        return made[rank()].read_value()

    compiled = tf.function(lambda x: strategy.experimental_local_results(strategy.run(step, (x,))))
    for expected in ([3.0, 3.0], [5.0, 5.0]):
        values = ss.PerReplica([tf.ones(2), tf.ones(2)])
        assert [one.numpy().tolist() for one in compiled(values)] == [expected] * COUNT
    assert made[0] is made[1]
    assert made[0].name == "made:0"


def test_a_first_value_that_a_graph_computes_is_refused_with_the_way_out(strategy: ss.Strategy) -> None:
    def step(x: Any) -> Any:
        return tf.Variable(x * 2.0, name="late").read_value()

    with pytest.raises(InvalidArgument, match=r"The variable late is made while a tf\.function is traced.*\(lambda"):
        tf.function(lambda x: strategy.run(step, (x,)))(tf.ones(2))


def test_a_variable_made_by_one_replica_alone_is_named(strategy: ss.Strategy) -> None:
    def step() -> Any:
        if rank() == 1:
            tf.Variable(1.0, name="lonely")

    with pytest.raises(ReplicasDisagree, match=r"replica 1: variable lonely .* at test_tensorflow_variables.py:\d+"):
        strategy.run(step)


def test_an_unaggregated_write_is_local_and_its_divergence_named_with_the_users_line(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable(0.0, name="w")
    with pytest.warns(MirroredDiverged, match=r"assign of variable 'w' at test_tensorflow_variables.py:\d+"):
        strategy.run(lambda: v.assign(float(rank())))


def test_what_it_cannot_do_says_so(strategy: ss.Strategy) -> None:
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])
        with pytest.raises(Unsupported, match="takes no constraint"):
            tf.Variable(1.0, constraint=lambda x: x)
    with pytest.raises(Unsupported, match="takes no scattered updates"):
        v.scatter_add(tf.IndexedSlices([1.0], [0]))


@pytest.mark.slow
def test_a_keras_model_and_its_optimizer_made_in_a_scope_train_eager_and_traced(strategy: ss.Strategy) -> None:
    layers = keras.layers
    with strategy.scope():
        model = keras.Sequential([layers.Input((4,)), layers.Dense(3), layers.BatchNormalization(), layers.Dense(1)])
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build(model.trainable_variables)

    def step(batch: Any) -> Any:
        x, y = batch
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x, training=True) - y) ** 2) / 8.0
        gradients = tape.gradient(loss, model.trainable_variables)
        context = ss.get_replica_context()
        assert context is not None
        optimizer.apply(context.all_reduce("SUM", gradients), model.trainable_variables)
        return loss

    x = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    dataset = ss.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).batch(8).repeat(8)
    traced = tf.function(lambda batch: strategy.reduce("SUM", strategy.run(step, (batch,))))

    def train() -> list[Any]:
        batches = enumerate(strategy.experimental_distribute_dataset(dataset))
        return [(traced if number % 2 else traced.python_function)(batch).numpy() for number, batch in batches]

    with pytest.warns(MirroredDiverged, match=r"'moving_\w+' at test_tensorflow_variables.py:\d+"):
        losses = train()
    assert losses[-1] < losses[0] / 2
    kernel = strategy.experimental_local_results(model.trainable_variables[0].value)
    assert kernel[0].numpy().tobytes() == kernel[1].numpy().tobytes()


def test_a_module_finds_its_variables(strategy: ss.Strategy) -> None:
    with strategy.scope():
        module = tf.Module()
        module.w, module.b = tf.Variable(1.0), tf.Variable(2.0, trainable=False)
    assert (len(module.variables), [one.numpy() for one in module.trainable_variables]) == (2, [1.0])


def test_a_check_compares_a_plain_variable_that_a_program_returns_by_its_components_once() -> None:
    def program(strategy: ss.Strategy) -> Any:
        with strategy.scope():
            plain = tf.Variable([1.0, 2.0], name="plain", aggregation=tf.VariableAggregation.SUM)
        return {"plain": plain, "sum": strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", plain.value()))}  # type: ignore[union-attr]

    outcome = run_here(program, "tensorflow", ss.schedules.InOrder, replicas=2)
    assert [path for path, _ in outcome.leaves] == [
        "result['sum'] of local replica 0",
        "result['sum'] of local replica 1",
        "variable 0 'plain', replica 0",
        "variable 0 'plain', replica 1",
    ]
