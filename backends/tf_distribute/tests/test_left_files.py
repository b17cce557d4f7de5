"""A check leaves no file in the temporary folder, and prints what is the program's.  Clauses: J-110, J-111, J-112."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = "import sys\nfrom simstrategy.cli import main\nsys.argv = ['simstrategy', 'check', *sys.argv[1:]]\nmain()\n"

PROGRAM = """\
import tempfile
import tensorflow as tf

def program(strategy: tf.distribute.Strategy):
    with strategy.scope():
        weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

    def step(rows):
        if tf.reduce_sum(rows) > 0.0:  # AutoGraph writes a file
            rows = rows / 4.0
        weight.assign_add(tf.reduce_sum(rows))

    @tf.function
    def train(batch):
        strategy.run(step, args=(batch,))

    rows = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0]).batch(4)
    for batch in strategy.experimental_distribute_dataset(rows):
        train(batch)
    tempfile.mkstemp(prefix="of_the_program") if strategy.cluster_resolver else None
    return weight.numpy()
"""

FITS = """\
import keras, numpy as np
import tensorflow as tf

ROWS = np.ones((8, 3), np.float32)

def program(strategy: tf.distribute.Strategy):
    with strategy.scope():
        model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
        model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(ROWS, ROWS[:, :1], batch_size=4, shuffle=False, verbose=0)
    return model
"""


def checked(folder: Path, text: str, *arguments: str) -> tuple[int, str, list[str]]:
    """Returns the exit code of a check in a process, what it printed, and the files that are left."""
    temporary = folder / "temporary"
    temporary.mkdir()
    (folder / "train.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(folder / "train.py"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    left = [str(one.relative_to(temporary)) for one in temporary.rglob("*")]
    return done.returncode, " ".join((done.stdout + done.stderr).split()), left


@pytest.mark.slow
def test_a_check_leaves_nothing_in_the_temporary_folder_and_its_runs_make_no_remark_on_retracing(
    tmp_path: Path,
) -> None:
    code, printed, left = checked(tmp_path, PROGRAM, "--replicas", "1,2,3", "--workers", "2")
    assert (code, "All runs agree" in printed) == (0, True), printed
    assert "retracing" not in printed, printed
    assert left == []


@pytest.mark.slow
@pytest.mark.deep
def test_what_keras_does_not_do_in_several_processes_is_not_judged(tmp_path: Path) -> None:
    code, printed, left = checked(tmp_path, FITS, "--replicas", "2", "--workers", "2")
    assert (code, "NOT JUDGED: a library does not do it in several processes" in printed) == (2, True), printed
    assert "At train.py:10 Keras 3.15 reduces a nest of distributed values" in printed, printed
    assert left == []
