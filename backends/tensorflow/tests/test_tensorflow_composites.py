"""IndexedSlices, sparse and ragged tensors: summed, refused and handed through as MirroredStrategy does.

Clauses: F-7.
"""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from beside import COUNT, theirs

import simstrategy as ss
from simstrategy.errors import ReplicasDisagree, Unsupported


def ours(replicas: int = COUNT) -> ss.Strategy:
    return ss.Strategy.mirrored("tensorflow", replicas=replicas)


def slices(context: Any, dtype: Any = tf.float32) -> Any:
    """Replica r's slices: r + 1 of them."""
    rank = tf.cast(context.replica_id_in_sync_group, tf.int32)
    return tf.IndexedSlices(tf.cast(tf.ones([rank + 1, 2], tf.int32) * (rank + 1), dtype), tf.range(rank + 1), [3, 2])


def plain(value: Any) -> list[Any]:
    if isinstance(value, tf.IndexedSlices):
        return ["slices", value.values.dtype, value.values.numpy().tolist(), value.indices.numpy().tolist()]
    return ["dense", value.dtype, value.numpy().tolist()]


def reduced(strategy: Any, module: Any, op: str, dtype: Any) -> list[Any]:
    context = module.get_replica_context
    per_replica = strategy.run(lambda: slices(context(), dtype))
    everywhere = strategy.run(lambda: context().all_reduce(op, slices(context(), dtype)))
    locals_ = strategy.experimental_local_results(everywhere)
    return [plain(strategy.reduce(op, per_replica, axis=None)), *map(plain, locals_)]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32])
@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_slices_are_put_end_to_end_as_mirrored_strategy_does(op: str, dtype: Any) -> None:
    assert reduced(ours(), ss, op, dtype) == reduced(theirs(), tf.distribute, op, dtype)


@pytest.mark.parametrize("op", ["SUM", "MEAN"])
def test_slices_of_one_replica_are_themselves(op: str) -> None:
    value = tf.IndexedSlices(tf.constant([[2, 4]]), tf.constant([1]), [3, 2])
    assert plain(ours(1).reduce(op, value)) == ["slices", tf.int32, [[2, 4]], [1]]


def test_slices_beside_arrays_are_each_reduced_as_what_they_are() -> None:
    def step() -> Any:
        context = ss.get_replica_context()
        assert context is not None
        return context.all_reduce("SUM", {"s": slices(context), "d": tf.ones(2)})

    result = ours().run(step)
    assert result["d"].values[1].numpy().tolist() == [2.0, 2.0]
    assert result["s"].values[1].indices.numpy().tolist() == [0, 0, 1]


def test_slices_are_made_dense_where_an_axis_or_a_dense_replica_wants_it() -> None:
    strategy = ours()

    def mixed() -> Any:
        context = ss.get_replica_context()
        assert context is not None
        return slices(context) if context.replica_id_in_sync_group else tf.ones([3, 2])

    per_replica = strategy.run(mixed)
    assert strategy.reduce("SUM", per_replica, axis=0).numpy().tolist() == [7.0, 7.0]
    assert strategy.reduce("SUM", per_replica).numpy().tolist() == [[3.0, 3.0], [3.0, 3.0], [1.0, 1.0]]
    assert strategy.gather(per_replica, axis=0).shape == (6, 2)


def test_a_replica_whose_gradient_is_dense_is_named() -> None:
    def step() -> Any:
        context = ss.get_replica_context()
        assert context is not None
        value = slices(context) if context.replica_id_in_sync_group else tf.ones([3, 2])
        return context.all_reduce("SUM", value)

    with pytest.raises(
        ReplicasDisagree, match=r"replica 1: all_gather part 0 of leaf 0 .*test_tensorflow_composites.py"
    ):
        ours().run(step)


def test_an_embeddings_gradient_is_summed_in_a_graph_and_assigned() -> None:
    strategy = ours()
    with strategy.scope():
        table = tf.Variable(np.zeros((3, 2), np.float32), aggregation=tf.VariableAggregation.SUM)

    def step(rows: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table.value(), rows) + 1.0)
        gradient = tape.gradient(loss, table)
        assert isinstance(gradient, tf.IndexedSlices) or gradient is not None
        table.assign_sub(gradient)

    rows = ss.PerReplica([tf.constant([0, 1]), tf.constant([1, 1])])
    tf.function(lambda: strategy.run(step, (rows,)))()
    assert table.numpy().tolist() == [[-1.0, -1.0], [-3.0, -3.0], [0.0, 0.0]]


@pytest.mark.parametrize("make", [lambda: tf.sparse.from_dense([[1.0, 0.0]]), lambda: tf.ragged.constant([[1.0], []])])
def test_sparse_and_ragged_tensors_go_through_run_and_have_no_sum(make: Any) -> None:
    strategy = ours()
    per_replica = strategy.run(lambda x: x, args=(strategy.run(make),))
    kind = type(make())
    assert all(isinstance(one, kind) for one in per_replica.values)
    with pytest.raises(Unsupported, match=f"A {kind.__name__} was given to reduce, and has no sum over replicas"):
        strategy.reduce("SUM", per_replica)
    with pytest.raises(Unsupported, match=f"all_gather does not support {kind.__name__} \\(test_tensorflow_compos"):
        strategy.run(lambda: ss.get_replica_context().all_gather(make(), 0))  # type: ignore[union-attr]


@pytest.mark.slow
def test_sparse_and_ragged_values_of_replicas_go_into_a_tf_function_and_out_again() -> None:
    strategy = ours()
    doubled = tf.function(lambda value: strategy.run(lambda x: x * 2.0, (value,)))
    value = strategy.run(lambda: tf.ragged.constant([[1.0], []]))
    assert [one.to_list() for one in doubled(value).values] == [[[2.0], []]] * COUNT
