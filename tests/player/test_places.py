"""Where a page opens: at an event, or at the first that stands out."""

import numpy as np

import simstrategy as ss
from simstrategy.player import opening_stop
from simstrategy.player.stops import events_of, stops_of
from simstrategy.trace.recording import HOLDS, EventAt

context = ss.get_replica_context


def event_at(recording, at):
    events = events_of(recording)
    return events[stops_of(events)[at].event]


def trained(strategy):
    with strategy.scope():
        total = ss.Variable(np.float32(0), aggregation=ss.VariableAggregation.SUM, name="total")
    strategy.run(lambda: total.assign_add(np.float32(1)))
    strategy.run(lambda: context().all_reduce("SUM", np.float32(2)))


def test_it_opens_at_every_event_by_its_place(record):
    recording = record(trained, 2)
    for one in (*recording.points, *recording.parts):
        assert event_at(recording, opening_stop(recording, one.number)).number == one.number


def test_a_write_of_a_point_opens_at_the_point(record):
    recording = record(trained, 2)
    write = next(one for one in recording.writes if one.operation == "assign_add")
    found = event_at(recording, opening_stop(recording, write.number))
    assert found.number == write.point


def test_without_a_place_it_opens_at_the_first_error_then_at_the_difference_then_at_the_end(record):
    def fails(strategy):
        trained(strategy)
        strategy.run(lambda: context().all_reduce("SUM", np.zeros(context().replica_id_in_sync_group)))

    recording = record(fails, 2)
    assert event_at(recording, opening_stop(recording)).error[0] == "ReplicasDisagree"
    one, other = record(trained, 2), record(trained, 3)
    assert event_at(other, opening_stop(other, reference=one)).kind == "assign_add"
    assert opening_stop(one) == len(stops_of(events_of(one))) - 1
    assert opening_stop(one, place=10_000) == opening_stop(one)
    assert opening_stop(ss.trace.Recorder().recording()) == 0


def test_an_event_whose_number_is_not_known_is_found_by_its_line_its_name_and_its_turn():
    recorder = ss.trace.Recorder()
    for step, value in ((1, 1.0), (2, 2.0)):
        recorder.begin_step(0, step)
        for rank in range(2):
            recorder.wrote(0, rank, "loss", HOLDS, (), [np.float32(value)], ("/home/user/train.py", 7))
        recorder.wrote(0, None, "rate", HOLDS, (), [np.float32(0)] * 2, ("/home/user/train.py", 7))
    recorder.close()
    found = recorder.recording()

    def opened(*words):
        return opening_stop(found, at=EventAt(*words))

    assert [opened("train.py:7", None, "loss", rank, turn) for turn in (0, 1) for rank in (0, 1)] == [0, 1, 3, 4]
    assert [opened("train.py:7", None, "rate", rank, 1) for rank in (0, 1)] == [5, 5]
    assert [opened("train.py:7", step) for step in (1, 2, 3)] == [0, 3, 0]
    assert opened("train.py:9") == len(stops_of(events_of(found))) - 1
