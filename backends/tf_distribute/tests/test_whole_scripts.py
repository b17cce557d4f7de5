"""Scripts that make their MirroredStrategy themselves are judged as they are.  Clauses: J-116, J-118, J-119."""

import pytest

import simstrategy as ss
from simstrategy.check.programs import load_program

SCRIPT = """\
import sys
import numpy as np
import tensorflow as tf
from tensorflow import distribute

BATCH = int(sys.argv[1])


def main():
    strategy = distribute.MirroredStrategy(["GPU:0", "GPU:1"])
    rows = np.random.default_rng(0).normal(size=(24, 4)).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(1, keepdims=True))).batch(BATCH)
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="tanh"), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)

    def step(inputs):
        x, y = inputs
        with tf.GradientTape() as tape:
            loss = tf.nn.compute_average_loss((model(x) - y)[:, 0] ** 2, global_batch_size=SIZE)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return loss

    @tf.function
    def train(batch):
        return strategy.reduce("SUM", strategy.run(step, args=(batch,)), axis=None)

    for batch in strategy.experimental_distribute_dataset(data):
        train(batch)


if __name__ == "__main__":
    main()
"""


def checked(tmp_path, size="BATCH", batch="12"):
    file = tmp_path / "train.py"
    file.write_text(SCRIPT.replace("SIZE", size))
    return ss.check(load_program(file, arguments=[batch]), replicas=[1, 2])


@pytest.mark.deep
def test_a_right_script_agrees_by_its_variables(tmp_path):
    report = checked(tmp_path)
    assert report.verdict == "agree", str(report)
    assert max(row.compared for row in report.rows) >= 4  # the weights of two layers


def test_a_loss_divided_by_the_part_of_a_replica_is_named_at_the_scripts_line(tmp_path):
    report = checked(tmp_path, "BATCH // strategy.num_replicas_in_sync")
    (found,) = report.findings
    assert "sum of means" in (found.kind, *found.also)
    assert found.site == "train.py:21"


def test_a_batch_that_grows_with_the_replicas_is_not_judged(tmp_path):
    report = checked(tmp_path, batch="{6*replicas}")
    assert report.verdict == "undecided", str(report)
    assert [row.why for row in report.rows if row.law == "replicas"] == ["other global batches"]
    assert "the global batch grows with the number of replicas, at train.py:" in str(report)
