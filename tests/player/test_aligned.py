"""Which stops of two runs are the same event: by calls in their order, lines and turns; unknown after another call."""

import numpy as np

import simstrategy as ss
from simstrategy.player.aligned import aligned
from simstrategy.player.stops import events_of, stops_of
from simstrategy.trace.recording import HOLDS

SITE = ("/home/user/train.py", 7)


def recorded(*lines, replicas=2):
    """Returns events and stops of a run: a text names a call, and a pair what a name holds on a replica or on all."""
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=replicas, workers=1, order="linear", arrivals="not recorded")
    for line in lines:
        if isinstance(line, str):
            depth = recorder.depth(0)
            request = ss.trace.Request(line, None, None, None, None, ())
            recorder.begin(0, request, [*range(replicas)], [SITE] * replicas, [[np.float32(1)]] * replicas)
            recorder.leave(0, depth, [[np.float32(1)]] * replicas)
        else:
            name, replica = line
            count = replicas if replica is None else 1
            recorder.wrote(0, replica, name, HOLDS, (), [np.float32(2)] * count, SITE)
    recorder.ended(0, [])
    recorder.close()
    events = events_of(recorder.recording())
    return events, stops_of(events)


def test_names_are_paired_by_their_turn_between_two_calls():
    reference = recorded(("loss", None), "barrier", ("loss", None), ("loss", None), "barrier", replicas=1)
    other = recorded(("mine", None), ("loss", None), "barrier", ("loss", None), "barrier", ("loss", None))
    assert aligned(reference, other) == [None, 0, 1, 2, 4, None, 5]


def test_after_another_call_nothing_is_known():
    reference = recorded("barrier", ("loss", None), "broadcast", ("loss", None))
    assert aligned(reference, recorded("barrier", ("loss", None), "barrier", ("loss", None))) == [0, 1, *[None] * 3]
    assert aligned(reference, recorded("barrier")) == [0, None]


def test_what_one_replica_does_is_paired_with_what_it_does_in_the_reference_or_all_do():
    reference = recorded(("own", 1), ("first", 0), ("all", None))
    other = recorded(("own", 1), ("own", 0), ("first", 1), ("all", 1))
    assert aligned(reference, other) == [0, None, 1, 2, 3]


def test_a_run_is_aligned_with_itself_at_every_stop():
    run = recorded(("loss", None), "barrier", ("loss", 0), ("loss", 1), ("loss", None), "barrier")
    assert aligned(run, run) == [*range(len(run[1]))]
