"""Lines beside a cause: where examples come from that were not distributed, and who writes what a read combines.

Clauses: J-38, J-39.
"""

import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from simstrategy.check.causes import Cause
from simstrategy.check.outcome import Outcome
from simstrategy.trace import Recorder, Trace
from simstrategy_tf_distribute import replicas_agree
from simstrategy_tf_distribute.devices import ObservedStrategy
from simstrategy_tf_distribute.running import Run
from simstrategy_tf_distribute.runs import with_lines
from simstrategy_tf_distribute.undistributed import undistributed

HERE = Path(__file__)
ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def line_of(text):
    """Returns the number of the only line of this file that begins with a text."""
    (found,) = [number for number, line in enumerate(HERE.read_text().splitlines(), 1) if line.strip().startswith(text)]
    return found


def strategy_of(count=2):
    return ObservedStrategy(count, Trace())


def test_a_loop_over_a_dataset_that_was_not_distributed_is_found_with_the_line_that_set_it():
    plain_dataset = tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, 0])).batch(3)
    for inputs in plain_dataset:
        found = undistributed(sys._getframe(), [(inputs,), {}])
        break
    assert found is not None
    assert found.dataset == "plain_dataset"
    assert found.loop == (str(HERE), line_of("for inputs in plain_dataset:"))
    assert found.made == (str(HERE), line_of("plain_dataset = tf.data"))
    assert f"is set at {HERE.name}:{found.made[1]} and is not distributed" in found.text


def test_a_loop_with_a_counter_over_a_parameter_names_its_own_line():
    def looped(given):
        for number, (rows, first) in enumerate(given):
            return undistributed(sys._getframe(), [(rows,), {"first": first}]), number
        raise AssertionError

    found, _ = looped(tf.data.Dataset.from_tensor_slices((ROWS, ROWS[:, 0])).batch(3))
    assert found is not None
    assert found.made == found.loop == (str(HERE), line_of("for number, (rows, first)"))


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    """As in a notebook's `%%writefile`, or an editor: one process checks the file again."""
    file, strategy = tmp_path / "train.py", strategy_of()
    found = []
    for lines in (["def program(data):"], ["import sys", "", "def program(data):"]):
        body = ["    for rows in data:", "        return found(sys._getframe(), [(rows,), {}])"]
        file.write_text("\n".join([*lines, *body]))
        names_of = {"found": undistributed, "sys": sys, "strategy": strategy}
        exec(compile(file.read_text(), str(file), "exec"), names_of)
        found.append(names_of["program"](tf.data.Dataset.from_tensor_slices(ROWS).batch(2)))
    assert [one.loop[1] for one in found] == [2, 4]


def test_runs_that_give_no_examples_to_all_replicas_are_left_out():
    strategy = strategy_of()
    dataset = tf.data.Dataset.from_tensor_slices(ROWS).batch(2)
    scales, rate = tf.constant([1.0, 2.0]), tf.constant(0.1)
    for part in strategy.experimental_distribute_dataset(dataset):
        assert undistributed(sys._getframe(), [(part,), {}]) is None
        assert undistributed(sys._getframe(), [(part, scales), {}]) is None  # what is shared beside a part
        break
    for rows in dataset:
        assert undistributed(sys._getframe(), [(rate,), {}]) is None
        assert undistributed(sys._getframe(), [(scales,), {}]) is None  # not of the loop
        assert undistributed(sys._getframe(), [(rows, scales), {}]) is not None
    for number in range(2):
        assert undistributed(sys._getframe(), [(scales * number,), {}]) is None
    assert undistributed(sys._getframe(), [(), {}]) is None


def written(strategy, synchronization, aggregation):
    with strategy.scope():
        total = tf.Variable(0.0, synchronization=synchronization, aggregation=aggregation, name="total")

    def step():
        total.assign_add(1.0)  # of a replica

    strategy.run(step)
    total.read_value()
    return strategy.observation.variables.combined()


def test_the_writes_of_a_variable_that_is_combined_where_it_is_read_are_named():
    found = written(strategy_of(), tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM)
    place = (str(HERE), line_of("total.read_value()"))
    assert found == {place: (f"'total' by assign_add at {HERE.name}:{line_of('total.assign_add(1.0)')}",)}


def test_other_variables_and_writes_outside_of_replicas_are_not_named():
    strategy = strategy_of()
    assert written(strategy, tf.VariableSynchronization.ON_WRITE, tf.VariableAggregation.MEAN) == {}
    with strategy.scope():
        kind = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM}
        alone = tf.Variable(0.0, **kind)
    alone.assign(3.0)
    alone.read_value()
    assert all(not texts for texts in strategy.observation.variables.combined().values())


CAUSE = Cause("sum of means", 1, "train.py:31", "reduce", None, "Twice.", certain=True, factor=2.0)


def run_with(combined=(), given=()):
    return Run(Outcome((), None, ()), Recorder().recording(), (), dict(combined), tuple(given))


@pytest.mark.parametrize(
    ("cause", "ends"),
    [
        (CAUSE, "What the replicas write: 'total' by assign_add at train.py:9."),
        (CAUSE._replace(site="deep/train.py:31"), "What the replicas write: 'total' by assign_add at train.py:9."),
        (CAUSE._replace(site="train.py:32"), "Twice."),
        (CAUSE._replace(what="all_reduce"), "Twice."),
        (CAUSE._replace(site=None), "Twice."),
    ],
)
def test_a_cause_at_another_line_or_of_another_call_has_no_writes(cause, ends):
    run = run_with({("/home/train.py", 31): ["'total' by assign_add at train.py:9"]})
    assert with_lines(cause, run, 2.0).text.endswith(ends)


def test_data_that_were_not_distributed_explain_a_factor_of_the_replicas_alone():
    several_rows = tf.data.Dataset.from_tensor_slices(ROWS).batch(3)
    for given in several_rows:
        data = undistributed(sys._getframe(), [(given,), {}])
    run = run_with(given=[data])
    found = with_lines(CAUSE, run, 2.0)
    assert found.source == f"{HERE.name}:{line_of('several_rows = ')}"
    assert "gives every replica the whole batch" in found.text
    assert with_lines(CAUSE, run, 4.0) == CAUSE
    assert with_lines(CAUSE._replace(factor=None), run, 2.0).source is None
    assert with_lines(CAUSE._replace(factor=None, kind="duplicated samples"), run, 2.0).source is not None


@pytest.mark.slow
def test_a_variable_that_keeps_what_the_first_replica_writes_is_named_as_such():
    def program(strategy):
        with strategy.scope():
            options = {"trainable": False, "aggregation": tf.VariableAggregation.ONLY_FIRST_REPLICA}
            codebook = tf.Variable(tf.zeros(2), name="codebook", **options)

        @tf.function
        def step(rows):
            strategy.run(lambda part: codebook.assign(0.9 * codebook + 0.1 * tf.reduce_mean(part, 0)), args=(rows,))

        for rows in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(ROWS).batch(6)):
            step(rows)
        return codebook.numpy()

    report = replicas_agree(program, replicas=(1, 2))
    assert report.verdict == "differ", str(report)
    assert "change ONLY_FIRST_REPLICA of 'codebook'" in report.findings[0].cause
    assert "by its aggregation it keeps what replica 0 writes, and what the others write is lost" in str(report)
