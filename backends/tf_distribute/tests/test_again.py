"""Runs that are made for a cause: line by line with what steps leave in variables, and with layers as in a prediction.

Clauses: J-77, J-78
"""

from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from loops import batches, by_loss, gradient_of, of_the_batch, reduced, trained, weights_of

from simstrategy.check.causes.recordings import facts_of
from simstrategy.launch.predicting import without_training
from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.running import run_closely, run_once


def returns_a_loss(strategy):
    weights = weights_of(strategy)

    def step(rows, targets):
        scaled = rows * 1.0
        by_loss("SUM", of_the_batch)(weights, scaled, targets)
        return tf.reduce_mean(targets)

    run = tf.function(lambda batch: strategy.run(step, args=batch))
    for batch in batches(strategy, rows=12):
        run(batch)
    return weights.numpy()


def test_a_run_line_by_line_records_what_steps_change_and_return_and_names():
    run = run_closely(returns_a_loss, 0, 2)
    assert run.outcome.error is None
    facts = facts_of(run.recording)
    changes = [one for one in facts if one.what == "change"]
    assert [(one.step, one.subject, one.kept) for one in changes] == [(1, "w", True), (2, "w", True)]
    assert all(one.site.startswith("loops.py:") for one in changes)
    before = np.ones(3, np.float32)
    total = np.add.reduce([one.outputs[0] for one in changes])
    np.testing.assert_allclose(before + total, dict(run.outcome.leaves)["result"], rtol=1e-6)
    returned = [one for one in facts if one.what == "run"]
    assert [(one.step, len(one.inputs)) for one in returned] == [(1, 2), (2, 2)]
    scaled = [one for one in run.named if one.name == "scaled"]
    assert [(one.step, one.replica, one.value.shape) for one in scaled] == [
        (step, replica, (3, 3)) for step in (1, 2) for replica in (0, 1)
    ]


def with_values_of_all_kinds(strategy):
    """Has texts, tensors without a value, and what TensorFlow keeps as no number."""
    with strategy.scope():
        text = tf.Variable("begun", name="text")

    def step(rows, targets):
        name = tf.constant(["a", "b"])
        squares = tf.vectorized_map(lambda row: row * 2.0, rows)
        whole = tf.data.Dataset.range(2)._variant_tensor
        return {"name": name, "sum": tf.reduce_sum(squares + targets[:, None]), "none": None, "two": 2, "whole": whole}

    for batch in batches(strategy, rows=12):
        strategy.run(step, args=batch)
    text.assign("ended")
    return {"gathered": strategy.gather(strategy.run(lambda: tf.constant(["c"])), axis=0)}


def test_what_has_no_numbers_is_passed_over():
    run = run_closely(with_values_of_all_kinds, 0, 2)
    assert run.outcome.error is None
    returned = [one for one in facts_of(run.recording) if one.what == "run"]
    assert [len(term) for one in returned[:2] for term in one.inputs] == [2, 2, 2, 2]  # the sum, and 2
    assert {one.name for one in run.named} >= {"squares", "rows", "targets"}


def test_functions_are_compiled_again_after_a_run_line_by_line():
    run_closely(returns_a_loss, 0, 1)
    assert not tf.config.functions_run_eagerly()
    assert not run_once(returns_a_loss, 0, 1).named


def traced_otherwise(strategy):
    """The rate is that of a replica, and another one again where functions are not compiled."""
    rate = (0.02 if tf.config.functions_run_eagerly() else 0.01) * strategy.num_replicas_in_sync

    def update(weights, rows, targets):
        gradient = gradient_of(weights, rows, targets, of_the_batch)
        weights.assign_sub(rate * reduced("SUM", gradient))

    return trained(strategy, update, rows=12)


@pytest.mark.deep
def test_a_run_line_by_line_that_gives_something_else_shows_no_kind():
    report = replicas_agree(traced_otherwise, replicas=[1, 2])
    assert report.verdict == "differ"
    assert report.findings[0].kind is None


def test_layers_that_predict_train_again_afterwards():
    drop, norm = keras.layers.Dropout(0.5, seed=1), keras.layers.BatchNormalization()
    ones = tf.ones((64, 2))
    before = {layer: vars(type(layer))["call"] for layer in (drop, norm)}
    with without_training({keras.layers.Dropout, keras.layers.BatchNormalization}):
        assert np.array_equal(drop(ones, training=True), ones)
        np.testing.assert_allclose(norm(ones, training=True), ones, rtol=1e-3)
    assert {layer: vars(type(layer))["call"] for layer in (drop, norm)} == before
    assert not np.array_equal(drop(ones, training=True), ones)


class Noisy(keras.layers.Dropout):
    """Has no `call` of its own."""


def test_a_layer_without_a_call_of_its_own_has_none_afterwards():
    noisy = Noisy(0.5, seed=1)
    with without_training({Noisy}):
        assert np.array_equal(noisy(tf.ones((8, 2)), training=True), tf.ones((8, 2)))
        assert not np.array_equal(keras.layers.Dropout(0.5)(tf.ones((64, 2)), training=True), tf.ones((64, 2)))
    assert "call" not in vars(Noisy)


def two_layers(strategy):
    """Statistics and draws of each part."""
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.layers.BatchNormalization(name="norm"),
                keras.layers.Dropout(0.5, seed=3, name="drop"),
                keras.layers.Dense(1, name="out"),
            ]
        )
        model.compile(keras.optimizers.SGD(0.01), keras.losses.MeanSquaredError("sum"))
    rows = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
    model.fit(rows, rows.sum(1), batch_size=4, epochs=1, shuffle=False, verbose=0)
    return model


@pytest.mark.deep
def test_where_two_kinds_of_layers_are_needed_both_are_named():
    (finding, *_) = replicas_agree(two_layers, replicas=[1, 2]).findings
    assert (finding.kind, finding.also) == ("statistics per replica", ("different draws",))
    assert "With training=False in norm (BatchNormalization) and drop (Dropout), the runs agree." in finding.cause


def tries_again(strategy):
    """Has the rate of a replica, and makes each step until it is made."""
    weights = weights_of(strategy)

    def update(rows, targets):
        rate = 0.05 * strategy.num_replicas_in_sync
        weights.assign_sub(rate * reduced("SUM", gradient_of(weights, rows, targets, of_the_batch)))

    for batch in batches(strategy, rows=12):
        while True:
            try:
                strategy.run(update, args=batch)
                break
            except BaseException:  # noqa: BLE001 - as programs have it
                continue
    return weights.numpy()


@pytest.mark.deep
def test_a_run_that_is_ended_early_ends_where_the_program_tries_again():
    (finding, *_) = replicas_agree(tries_again, replicas=[1, 2]).findings
    assert (finding.kind, finding.step) == ("scaled by the number of replicas", 1)


class LossOfTheLayer(keras.layers.Layer):
    """Draws the same on all replicas, and adds a loss, while it trains.  It is in no way of Keras's own."""

    def __init__(self):
        keras.layers.Layer.__init__(self, name="mine")
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, rows, training=False):
        if training:
            self.add_loss(0.1 * tf.reduce_max(rows**2))
        return rows


def with_a_loss_of_a_layer(strategy):
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(2), LossOfTheLayer(), keras.layers.Dense(1, name="out")])
        model.compile(keras.optimizers.SGD(0.01), keras.losses.MeanSquaredError("sum"))
    rows = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
    model.fit(rows, rows.sum(1), batch_size=4, epochs=1, shuffle=False, verbose=0)
    return model


@pytest.mark.deep
def test_a_layer_that_a_program_has_written_is_not_called_as_in_a_prediction():
    (finding, *_) = replicas_agree(with_a_loss_of_a_layer, replicas=[1, 2]).findings
    assert finding.kind not in ("different draws", "statistics per replica")


def ends_otherwise(strategy):
    """The average that is returned has a decay by the number of replicas, and nothing reduces it."""
    weights, average = weights_of(strategy), weights_of(strategy)
    decay = 0.5**strategy.num_replicas_in_sync

    def update(rows, targets):
        by_loss("SUM", of_the_batch)(weights, rows, targets)
        average.assign(decay * average + (1 - decay) * weights)  # shows

    for batch in batches(strategy, rows=12):
        strategy.run(update, args=batch)
    return average.numpy()


@pytest.mark.deep
def test_a_place_without_a_kind_is_named_where_the_reductions_have_none():
    (finding, *_) = replicas_agree(ends_otherwise, replicas=[1, 2]).findings
    assert (finding.kind, finding.step) == (None, 1)
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("# shows"))
    assert finding.site == f"test_again.py:{line}"


@pytest.mark.deep
def test_layers_of_a_model_that_is_not_returned_are_named_too():
    def program(strategy):
        with strategy.scope():
            norm = keras.layers.BatchNormalization(name="norm")
            model = keras.Sequential([keras.layers.Input((3,)), norm, keras.layers.Dense(1, name="out")])
            optimizer = keras.optimizers.SGD(0.01)

        def step(rows, targets):
            with tf.GradientTape() as tape:
                loss = of_the_batch((model(rows, training=True)[:, 0] - targets) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

        run = tf.function(lambda batch: strategy.run(step, args=batch))
        for batch in batches(strategy, rows=12):
            run(batch)
        return model.get_weights()

    report = replicas_agree(program, replicas=[1, 2])
    kinds = [one.kind for one in report.findings if one.law == "replicas"]
    assert kinds == ["statistics per replica"]
    assert "norm (BatchNormalization) normalises each replica's part" in str(report.findings[0].cause)
