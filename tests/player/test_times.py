"""Virtual time in a page, and in the format of Perfetto."""

import json
from itertools import pairwise

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player import TimedRun, as_trace_events
from simstrategy.player.data import run_data
from simstrategy.player.times import seconds_text
from simstrategy.sim import Cost, timeline

context = ss.get_replica_context


def reduces(strategy):
    def step():
        context().all_reduce("SUM", np.ones(6, np.float32))
        context().all_reduce("SUM", np.ones(3, np.float32))

    strategy.run(step)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (1.5, "1.5 s"), (1234.5, "1230 s"), (0.0125, "12.5 ms"), (3e-7, "300 ns"), (4e-12, "0.004 ns")],
)
def test_times_have_three_digits_and_a_unit(seconds, text):
    assert seconds_text(seconds) == text


def test_a_page_has_the_time_of_each_point_with_its_formula(record):
    recording = record(reduces, 3, order="ring")
    cost = Cost(compute_s=1.0, alpha_s=0.5, beta_s_per_byte=0.25, slow={1: 3.0})
    data = run_data(recording, name="run", sources={}, cost=cost)["times"]
    first, second = data["points"]
    assert first[3] == (
        "Waiting: replica 0 for 2 s, replica 2 for 2 s. all_reduce (ring, n = 3, s = 24): "
        "2(n-1) messages of s/n bytes, 10 s from 3 s on."
    )
    assert [span[:2] for span in first[4]] == [[0, 0], [1, 0], [2, 0], [0, 1], [2, 1], [0, 2], [1, 2], [2, 2]]
    assert (second[1], second[2]) == (13.0, 22.0)
    assert data["totals"][1] == ["replica 1", "6 s", "0 s", "16 s"]
    assert "replica 1 computes 3 times as long" in data["facts"]
    assert "The run ends at 22 s." in data["facts"]
    assert run_data(recording, name="run", sources={})["times"] is None


def test_overlap_has_a_row_of_the_network(record):
    data = run_data(record(reduces, 2), name="run", sources={}, cost=Cost(alpha_s=1.0, overlap=True))["times"]
    assert data["rows"] == ["replica 0", "replica 1", "network"]
    assert [span[0] for point in data["points"] for span in point[4] if span[1] == 2] == [2, 2]


def timed(recording, name="run", **costs):
    return TimedRun(name, recording, timeline(recording, Cost(**costs)))


def test_trace_events_follow_one_another_in_each_thread(record):
    recording = record(reduces, 3)
    runs = [
        timed(recording, "one", compute_s=0.1, alpha_s=1e-7, slow={2: 1.37}),
        timed(recording, "two", compute_s=2.0),
    ]
    data = json.loads(as_trace_events(runs))
    assert set(data) == {"traceEvents", "displayTimeUnit"}
    names = {(one["pid"], one["args"]["name"]) for one in data["traceEvents"] if one["name"] == "process_name"}
    assert names == {(0, "one"), (1, "two")}
    threads = {}
    for one in data["traceEvents"]:
        assert one["ph"] in "XM"
        if one["ph"] == "X":
            assert set(one) == {"ph", "name", "cat", "ts", "dur", "pid", "tid", "args"}
            threads.setdefault((one["pid"], one["tid"]), []).append((round(one["ts"] * 1000), round(one["dur"] * 1000)))
    assert set(threads) == {(run, rank) for run in (0, 1) for rank in range(3)}
    for spans in threads.values():
        assert all(begin + length == after for (begin, length), (after, _) in pairwise(spans))
        assert all(length > 0 for _, length in spans)


def test_trace_events_of_overlap_have_a_thread_of_the_network(record):
    data = json.loads(as_trace_events([timed(record(reduces, 2), alpha_s=1.0, overlap=True)]))
    names = {one["tid"]: one["args"]["name"] for one in data["traceEvents"] if one["name"] == "thread_name"}
    network = [one for one in data["traceEvents"] if one["ph"] == "X" and one["cat"] == "communicate"]
    assert {names[one["tid"]] for one in network} == {"network"}
    assert [one["name"] for one in network] == ["all_reduce SUM", "all_reduce SUM"]


def test_workers_are_processes(tmp_path):
    recorder = ss.trace.Recorder()
    ss.sim.Cluster(2, 2, trace=recorder).run(reduces)
    data = json.loads(as_trace_events([timed(recorder.recording(), compute_s=1.0, alpha_s=1.0)]))
    places = {(one["pid"], one["tid"]) for one in data["traceEvents"] if one["ph"] == "X"}
    assert places == {(0, 0), (0, 1), (1, 2), (1, 3)}
