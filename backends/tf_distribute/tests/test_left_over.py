"""Variables of which rounding alone decides elements, and the state that an optimizer has of them.  Clause: G-120."""

import keras
import numpy as np
import pytest

from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.gradients import of_state

ROWS = np.random.default_rng(0).normal(size=(16, 6, 8)).astype(np.float32)
LABELS = np.random.default_rng(1).integers(0, 3, 16)


def attention(rate):
    """Returns a program that trains a layer of attention.  rate: of Adam, from the number of replicas."""

    def program(strategy):
        keras.utils.set_random_seed(3)
        with strategy.scope():
            given = keras.Input((6, 8))
            found = keras.layers.MultiHeadAttention(2, 4, name="attention")(given, given)
            found = keras.layers.GlobalAveragePooling1D()(found + given)
            model = keras.Model(given, keras.layers.Dense(3, name="last")(found))
            optimizer = keras.optimizers.Adam(rate(strategy.num_replicas_in_sync))
            model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(ROWS, LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0)

    return program


@pytest.mark.slow
def test_the_bias_of_keys_and_its_moments_are_named_and_all_others_are_judged():
    report = replicas_agree(attention(lambda _: 0.01), replicas=(1, 2))
    assert report.verdict == "agree", str(report)
    left = [text for text in str(report).splitlines() if text.startswith("Not compared")]
    names = ["attention/key/bias", "adam/attention_key_bias_momentum", "adam/attention_key_bias_velocity"]
    assert len(left) == 3
    for name, text in zip(names, left, strict=True):
        assert f"'{name}': the gradients are what rounding leaves where terms cancel" in text


@pytest.mark.slow
@pytest.mark.deep
def test_a_rate_that_depends_on_the_replicas_is_found_beside_it():
    report = replicas_agree(attention(lambda replicas: 0.01 * replicas), replicas=(1, 2))
    assert report.verdict == "differ", str(report)


def test_state_belongs_to_the_variable_with_the_longest_name():
    left, names = {"dense": np.array([True])}, ["dense", "dense/bias", "dense_1"]
    paths = [f"variable {number} 'adam/{name}'" for number, name in enumerate(["dense_bias_m", "dense_1_m", "dense_m"])]
    assert [*of_state(left, names, [*paths, "variable 7 'dense'", "variable 8 'other'", "history['loss'][0]"])] == [
        "variable 2 'adam/dense_m'",
        "variable 7 'dense'",
    ]
