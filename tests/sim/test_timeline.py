"""The virtual time of recorded runs: waiting, collectives, overlap, workers."""

from dataclasses import replace

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.sim import Cost, timeline
from simstrategy.sim.virtual_time import NETWORK

context = ss.get_replica_context


def recorded(program, replicas=3, workers=1, order="linear"):
    recorder = ss.trace.Recorder()
    if workers > 1:
        ss.sim.Cluster(workers, replicas, trace=recorder, order=order).run(program)
        return recorder.recording()
    recorder.describe(order=order)
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=replicas, order=order), trace=recorder)
    program(strategy)
    strategy.close()
    return recorder.recording()


def reduces(strategy, times=1):
    def step():
        for _ in range(times):
            context().all_reduce("SUM", np.ones(6, np.float32))

    strategy.run(step)


def spans(found, does):
    return [(span.rank, span.begin_s, span.end_s) for span in found.spans if span.does == does]


# Clauses: M-20
def test_all_wait_for_a_straggler_as_long_as_it_computes_longer():
    found = timeline(recorded(reduces), Cost(compute_s=2.0, slow={1: 4.0}))
    assert spans(found, "compute") == [(0, 0.0, 2.0), (1, 0.0, 8.0), (2, 0.0, 2.0)]
    assert spans(found, "wait") == [(0, 2.0, 8.0), (2, 2.0, 8.0)]
    assert found.end_s == 8.0


# Clauses: M-20, M-21
@pytest.mark.parametrize(("algorithm", "seconds"), [("ring", 4 * (0.5 + 8 * 0.25)), ("tree", 4 * (0.5 + 24 * 0.25))])
def test_a_collective_takes_the_time_of_its_algorithm(algorithm, seconds):
    cost = Cost(compute_s=1.0, alpha_s=0.5, beta_s_per_byte=0.25)
    found = timeline(recorded(reduces, order=algorithm), cost)
    assert spans(found, "communicate") == [(rank, 1.0, 1.0 + seconds) for rank in range(3)]
    assert timeline(recorded(reduces), replace(cost, algorithm=algorithm)).spans == found.spans


# Clauses: M-20
def test_unequal_parts_take_unequal_times():
    def program(strategy):
        for rows in strategy.experimental_distribute_dataset(ss.data.Dataset.range(5).batch(5)):
            strategy.run(lambda part: context().all_reduce("SUM", context().xp.sum(part)), args=(rows,))

    found = timeline(recorded(program), Cost(row_s=1.0))
    assert spans(found, "compute") == [(0, 0.0, 2.0), (1, 0.0, 2.0), (2, 0.0, 1.0)]
    assert spans(found, "wait") == [(2, 1.0, 2.0)]


# Clauses: M-20
def test_a_run_without_a_point_ends_with_its_last_replica_and_the_next_follows():
    def program(strategy):
        strategy.run(lambda: None)
        strategy.run(lambda: None)

    found = timeline(recorded(program, 2), Cost(compute_s=1.0, slow={1: 3.0}))
    assert spans(found, "compute") == [(0, 0.0, 1.0), (1, 0.0, 3.0), (0, 3.0, 4.0), (1, 3.0, 6.0)]
    assert spans(found, "wait") == [(0, 1.0, 3.0), (0, 4.0, 6.0)]


# Clauses: M-20, M-21
def test_calls_of_the_program_follow_the_run_and_writes_send_what_they_aggregate():
    def program(strategy):
        with strategy.scope():
            total = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.SUM)
            kept = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

        def step():
            total.assign_add(np.ones(2, np.float32))
            kept.assign(np.ones(2, np.float32))
            return np.float32(1)

        strategy.reduce("SUM", strategy.run(step), axis=None)

    recording = recorded(program, 2)
    found = timeline(recording, Cost(alpha_s=1.0, beta_s_per_byte=1.0))
    points = [(point.kind, found.points[point.number]) for point in recording.points if point.number in found.points]
    calls = [(kind, one.call, one.devices, one.size, one.end_s - one.begin_s) for kind, one in points if one.call]
    assert calls == [
        ("assign_add", "all_reduce", 2, 8, 2 * (1 + 8)),
        ("assign", "broadcast", 2, 8, 1 + 8),
        ("reduce", "reduce", 2, 4, 1 + 4),
    ]
    assert found.end_s == 18 + 9 + 5


# Clauses: M-22
def test_with_overlap_no_replica_waits_for_a_sum_until_the_run_ends():
    recording = recorded(lambda strategy: reduces(strategy, 3), 2)
    cost = {"compute_s": 1.0, "alpha_s": 2.0}  # an all-reduce of 2 replicas takes 4 s
    assert timeline(recording, Cost(**cost)).end_s == 3 * (1 + 4)
    found = timeline(recording, Cost(**cost, overlap=True))
    assert [one for one in spans(found, "compute") if one[0] == 0] == [(0, 0.0, 1.0), (0, 1.0, 2.0), (0, 2.0, 3.0)]
    assert spans(found, "communicate") == [(NETWORK, 1.0, 5.0), (NETWORK, 5.0, 9.0), (NETWORK, 9.0, 13.0)]
    assert found.end_s == 1 + 3 * 4


# Clauses: M-20
def test_replicas_of_all_workers_wait_for_each_other():
    found = timeline(recorded(reduces, 2, workers=2), Cost(compute_s=1.0, slow={3: 5.0}))
    assert spans(found, "wait") == [(0, 1.0, 5.0), (1, 1.0, 5.0), (2, 1.0, 5.0)]


# Clauses: M-20
def test_what_runs_in_a_merge_call_follows_its_last_replica():
    def program(strategy):
        def merged(strategy, value):
            return strategy.reduce("SUM", value, axis=None)

        strategy.run(lambda: context().merge_call(merged, args=(np.float32(1),)))

    found = timeline(recorded(program, 2), Cost(compute_s=1.0, alpha_s=0.5, slow={1: 2.0}))
    assert spans(found, "wait") == [(0, 1.0, 2.0)]
    assert spans(found, "communicate") == [(0, 2.0, 2.5), (1, 2.0, 2.5)]


# Clauses: M-21
def test_a_point_that_ends_with_an_error_takes_no_time():
    def disagrees(strategy):
        def step():
            if context().replica_id_in_sync_group:
                context().all_reduce("SUM", np.float32(1))

        with pytest.raises(ss.errors.ReplicasDisagree):
            strategy.run(step)

    found = timeline(recorded(disagrees), Cost(compute_s=1.0, alpha_s=1.0))
    assert spans(found, "communicate") == []
    assert found.end_s == 1.0


# Clauses: M-19
def test_a_recording_is_as_it_was_after_its_times_were_computed(tmp_path):
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        recorder = ss.trace.Recorder(file)
        strategy = ss.Strategy.mirrored("sim", replicas=3, trace=recorder)
        reduces(strategy, 2)
        timeline(recorder.recording(), Cost(compute_s=1.0, slow={0: 9.0}))
        reduces(strategy)
        recorder.close()
    assert files[0].read_bytes() == files[1].read_bytes()
    times = [timeline(ss.trace.read(file), Cost(compute_s=1.0, alpha_s=0.1)) for file in files]
    assert times[0] == times[1]


def test_a_trace_without_values_has_times_too(tmp_path):
    trace = ss.trace.Trace()
    ss.Strategy.mirrored("sim", replicas=2, trace=trace).run(lambda: context().all_reduce("SUM", np.float32(1)))
    trace.write(tmp_path / "a.jsonl")
    found = timeline(ss.trace.read(tmp_path / "a.jsonl"), Cost(compute_s=1.0, alpha_s=1.0, beta_s_per_byte=1.0))
    assert found.end_s == 1 + 2 * (1 + 4)
