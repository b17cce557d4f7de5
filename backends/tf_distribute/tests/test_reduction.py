"""Our reductions inside the real MirroredStrategy: Keras's fit is the same to the bit, checked, and traced by name."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from sklearn.datasets import load_digits

import simstrategy as ss
from simstrategy.errors import InvalidArgument, ReplicasDisagree
from simstrategy_tf_distribute import OrderedReduction, replicas_agree
from simstrategy_tf_distribute.devices import mirrored

COUNT = 2
DIGITS = load_digits()
FEATURES, LABELS = (DIGITS.data[:150] / 16).astype(np.float32), DIGITS.target[:150].astype(np.int32)


def model_of(*, normalized: bool = True) -> Any:
    layers = [keras.layers.Input((64,)), keras.layers.Dense(16, activation="relu", name="hidden")]
    if normalized:
        layers += [keras.layers.BatchNormalization(name="norm"), keras.layers.Dropout(0.3)]
    return keras.Sequential([*layers, keras.layers.Dense(10, name="out")])


def fit(
    strategy: Any, *, normalized: bool = True, ops: OrderedReduction | None = None, examples: int = 150
) -> tuple[Any, Any, list[Any]]:
    """Fits two epochs of digits in batches of 64, the last perhaps partial; returns history, evaluation, weights."""
    with strategy.scope():
        model = model_of(normalized=normalized)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=["accuracy"])
    if ops is not None:
        ops.name_gradients(model.trainable_variables)
    features, labels = FEATURES[:examples], LABELS[:examples]
    history = model.fit(features, labels, batch_size=64, epochs=2, shuffle=False, verbose=0).history
    return history, model.evaluate(features, labels, batch_size=64, verbose=0), model.get_weights()


# Of Keras and TensorFlow, which say it of themselves.
quiet = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@quiet
@pytest.mark.slow
def test_keras_fits_to_the_same_bits_with_our_reductions_and_without_and_every_gradient_is_named() -> None:
    trace = ss.trace.Trace()
    ops = OrderedReduction(trace=trace)
    results = []
    for given in (None, ops):
        keras.utils.set_random_seed(3)
        results.append(fit(mirrored(COUNT, given), ops=given))
    (history, evaluation, weights), (our_history, our_evaluation, our_weights) = results
    assert (history, evaluation) == (our_history, our_evaluation)
    assert [one.tobytes() for one in weights] == [one.tobytes() for one in our_weights]
    subjects = [event.subject for event in trace.events() if event.replica == 0]
    for name in ("hidden/kernel", "hidden/bias", "norm/gamma", "norm/beta", "out/kernel", "out/bias"):
        assert any(f"gradient of {name}" in str(subject) or str(subject).endswith(f"/{name}") for subject in subjects)
    assert all(event.site.startswith("test_reduction.py:") for event in trace.events())
    assert sum(event.replica == 0 for event in trace.events()) == sum(event.replica == 1 for event in trace.events())


def context() -> Any:
    return tf.distribute.get_replica_context()


def rank() -> Any:
    return context().replica_id_in_sync_group


@pytest.mark.slow
def test_the_order_of_additions_is_the_replicas() -> None:
    strategy = mirrored(4, OrderedReduction())
    values = tf.constant([1e8, 1.0, -1e8, 1.0])
    for op, expected in (("SUM", 1.0), ("MEAN", 0.25)):
        results = strategy.run(lambda op=op: context().all_reduce(op, values[rank()]))
        assert [one.numpy() for one in results.values] == [expected] * 4


def test_values_of_different_forms_are_all_named() -> None:
    strategy = mirrored(COUNT, OrderedReduction())
    expected = (
        r"^Replicas sent values that cannot be added, reduce SUM at test_reduction.py:\d+:\n"
        r"  replica 0: float32\[1\]\n  replica 1: float32\[2\]\nAll must send"
    )
    with pytest.raises(ReplicasDisagree, match=expected):
        strategy.run(lambda: context().all_reduce("SUM", tf.ones(1 + int(rank()))))


def test_slices_and_gathers_go_through_and_are_traced() -> None:
    trace = ss.trace.Trace()
    strategy = mirrored(COUNT, OrderedReduction(trace=trace))

    def slices() -> Any:
        return tf.IndexedSlices(tf.ones([1, 2]), tf.reshape(rank(), [1]), tf.constant([3, 2]))

    total = strategy.run(lambda: context().all_reduce("SUM", slices()))
    assert [one.indices.numpy().tolist() for one in total.values] == [[0, 1]] * COUNT
    assert strategy.gather(strategy.run(lambda: tf.ones(2)), axis=0).shape == (4,)
    assert [(event.kind, event.dtypes) for event in trace.events()] == [
        *[("reduce", ("slices of float32",))] * COUNT,
        *[("gather", ("float32",))] * COUNT,
    ]


def agreeing(strategy: Any) -> Any:
    history, _, weights = fit(strategy, normalized=False, examples=128)
    return history, weights


def partial(strategy: Any) -> Any:
    return fit(strategy, normalized=False, examples=150)[2]


def depending(strategy: Any) -> Any:
    """Divides by the replica's part of the batch, as the well-known mistake is."""
    with strategy.scope():
        weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
    batches = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(FEATURES[:16, 10]).batch(8))
    for batch in batches:
        strategy.run(lambda x: weight.assign_sub(0.1 * tf.reduce_mean(x)), args=(batch,))
    return weight.numpy()


@quiet
@pytest.mark.slow
def test_a_keras_program_agrees_with_itself_on_any_number_of_replicas() -> None:
    agreement = replicas_agree(agreeing, replicas=(1, 2, 4))
    agreement.raise_for_difference()
    assert [row.replicas for row in agreement.rows] == [1, 2, 4]
    assert len(agreement.rows[1].events) >= 2 * 4


@quiet
@pytest.mark.slow
def test_keras_means_over_unequal_parts_of_a_last_batch_are_found() -> None:
    # A last batch of 22 is 11 and 11 of two replicas, which weigh alike; of four it is 6, 6, 6 and 4, which do not.
    even, uneven = replicas_agree(partial, replicas=(1, 2, 4)).rows[1:]
    assert (even.agrees, uneven.agrees) == (True, False)
    assert "became" in uneven.verdict


@pytest.mark.slow
def test_a_program_that_depends_on_the_number_of_replicas_is_told_where() -> None:
    agreement = replicas_agree(depending, replicas=(1, 2))
    assert not agreement
    with pytest.raises(AssertionError, match=r"(?s)depends on the number of replicas.* 2 .*result\[\]: .* became"):
        agreement.raise_for_difference()


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="at least one number of replicas"):
        replicas_agree(depending, replicas=())
    with pytest.raises(InvalidArgument, match=r"is no array of numbers\. Return weights"):
        replicas_agree(lambda strategy: "text", replicas=(1,))


@pytest.mark.slow
def test_the_command_says_whether_replica_counts_agree(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("def program(strategy):\n    return {'of': strategy.num_replicas_in_sync}\n")
    command = [sys.executable, "-m", "simstrategy_tf_distribute", str(file), "--replicas", "1,2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "result['of'][]: 1 became 2" in done.stdout
    done = subprocess.run([*command[:-1], "two"], capture_output=True, text=True, check=False)
    assert (done.returncode, "numbers such as --replicas 1,2,4" in done.stderr) == (2, True)
