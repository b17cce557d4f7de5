"""How a stop of one run stands to the same stop of another: not compared, equal, apart by rounding, another value."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player.data import run_data
from simstrategy.trace.recording import HOLDS

context = ss.get_replica_context


def run_of(program, replicas, reference=None):
    recorder = ss.trace.Recorder()
    program(ss.Strategy.mirrored("sim", replicas=replicas, trace=recorder))
    recorder.close()
    recording = recorder.recording()
    return recording, run_data(recording, name="run", sources={}, reference=reference)


def stands_of(program, *, counts=(1, 2)):
    """Returns for each call and write of the second run its label and its sign."""
    reference, first = run_of(program, counts[0])
    _, other = run_of(program, counts[1], reference)
    assert first["stands"] is None
    assert len(other["stands"]) == len(other["stops"])
    pairs = zip(other["stops"], other["stands"], strict=True)
    return [(other["events"][stop[0]]["label"].split()[0], sign) for stop, sign in pairs]


@pytest.mark.parametrize(
    ("value", "sign"),
    [
        (lambda count, _: 6.0 / count, "1"),
        (lambda count, _: (1.0 + 1e-6 * (count - 1)) / count, "2"),
        (lambda count, _: 6.0, "3"),
        (lambda count, rank: np.ones(count) / count, "0"),  # another shape
        (lambda count, _: np.nan if count > 1 else 1.0, "3"),
    ],
)
def test_the_result_of_a_collective_is_compared(value, sign):
    def program(strategy):
        def step():
            number = value(strategy.num_replicas_in_sync, context().replica_id_in_sync_group)
            return context().all_reduce("SUM", np.asarray(number, np.float32))

        strategy.run(step)

    assert ("all_reduce", sign) in stands_of(program)


def test_a_whole_number_that_is_another_one_is_not_compared():
    def program(strategy):
        strategy.run(lambda: context().all_reduce("SUM", np.int32(1)))

    assert ("all_reduce", "0") in stands_of(program)


def test_what_each_replica_has_for_itself_is_not_compared():
    def program(strategy):
        strategy.run(lambda: np.float32(context().replica_id_in_sync_group))

    assert {sign for label, sign in stands_of(program) if label == "run"} == {"0"}


def test_a_write_of_a_variable_is_compared():
    def program(strategy):
        with strategy.scope():
            weight = ss.Variable(np.float32(0), name="weight", aggregation=ss.VariableAggregation.SUM)
        strategy.run(lambda: weight.assign_add(np.float32(1)))

    assert [sign for label, sign in stands_of(program) if label == "assign_add"][-1] == "3"


def named(values, *, replica=None):
    """Returns a recording of a script in which a name gets a value on each replica, or on one alone."""
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=len(values), workers=1, order="linear", arrivals="not recorded")
    held = [np.float32(value) for value in values]
    recorder.wrote(0, replica, "loss", HOLDS, (), held if replica is None else held[:1], ("train.py", 7))
    recorder.ended(0, [])
    recorder.close()
    return recorder.recording()


@pytest.mark.parametrize(
    ("recording", "sign"),
    [
        (named([2, 2]), "1"),
        (named([3, 3]), "3"),
        (named([2, 3]), "0"),  # each replica has its own
        (named([3, 3], replica=0), "0"),  # of one replica alone
    ],
)
def test_a_name_is_compared_where_all_replicas_hold_one_value(recording, sign):
    data = run_data(recording, name="run", sources={}, reference=named([2]))
    assert data["stands"][0] == sign
