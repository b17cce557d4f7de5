"""What a page has of runs of other libraries: names, steps of optimizers, calls of some replicas alone."""

import numpy as np

import simstrategy as ss
from simstrategy.player.data import run_data
from simstrategy.trace.recording import HOLDS, OPTIMIZER_STEP

SITE = ("/home/user/train.py", 7)


def begun(replicas):
    recorder = ss.trace.Recorder()
    recorder.describe(replicas=replicas, workers=1, order="linear", arrivals="not recorded")
    return recorder


def data_of(recorder):
    recorder.close()
    return run_data(recorder.recording(), name="run", sources={})


def captions(data):
    return [text for _, _, text in data["stops"]]


def call(recorder, request, ranks, inputs, outputs):
    depth = recorder.depth(0)
    recorder.begin(0, ss.trace.Request(*request), ranks, [SITE] * len(ranks), inputs)
    recorder.leave(0, depth, outputs)


def test_what_a_name_holds_is_a_value_of_each_replica_and_no_component_that_differs():
    recorder = begun(2)
    recorder.wrote(0, None, "loss", HOLDS, (), [np.float32(1), np.float32(2)], SITE)
    recorder.wrote(0, None, "rate", HOLDS, (), [np.float32(1)] * 2, SITE)
    recorder.wrote(0, 1, "given", HOLDS, (), [np.float32(3)], SITE)
    data = data_of(recorder)
    assert captions(data) == [
        "After train.py:7 has run, loss has a value on each replica, and these are not all equal.",
        "After train.py:7 has run, rate has the same value on all replicas.",
        "After train.py:7 has run, given has this value on replica 1.",
    ]
    assert [one["apart"] for one in data["variables"]] == [True] * 3
    assert [event["label"] for event in data["events"]] == ["loss", "rate", "given"]
    assert not data["has_arrivals"]


def test_a_name_of_a_lone_replica_is_not_compared_with_anything():
    recorder = begun(1)
    recorder.wrote(0, None, "loss", HOLDS, (), [np.float32(1)], SITE)
    assert captions(data_of(recorder)) == ["After train.py:7 has run, loss has this value."]


def test_a_step_of_an_optimizer_is_one_stop_with_all_that_it_writes():
    recorder = begun(2)
    depth = recorder.depth(0)
    request = ss.trace.Request(OPTIMIZER_STEP, None, None, "3", None, ())
    recorder.begin(0, request, [0, 1], [SITE] * 2, [[np.float32(1)]] * 2)
    for name in ("weight", "bias"):
        recorder.wrote(0, None, f"gradient of {name}", HOLDS, (), [np.float32(1)] * 2, None)
        recorder.wrote(0, None, name, "step", [np.float32(0)] * 2, [np.float32(5), np.float32(6)], None)
    recorder.leave(0, depth, [[np.float32(5)], [np.float32(6)]])
    data = data_of(recorder)
    assert [text.partition(":")[0] for text in captions(data)] == [
        "All 2 replicas made step 3 of their optimizer at train.py"
    ]
    assert data["events"][0]["label"] == "step 3 of the optimizer"
    assert {one["name"]: one["writes"][0][0] for one in data["variables"]} == dict.fromkeys(
        ("gradient of weight", "weight", "gradient of bias", "bias"), 0
    )
    assert [one["apart"] for one in data["variables"]] == [True, False, True, False]


def test_additions_of_some_replicas_have_their_ranks_and_a_mean_may_have_the_name_of_another_library():
    recorder = begun(4)
    brought = [[np.float32([0.1])], [np.float32([0.7])]]
    mean = (np.float32(0.1) + np.float32(0.7)) / np.float32(2)
    call(recorder, ("all_reduce", "AVG", None, None, None, ()), [1, 3], brought, [[np.float32([mean])]] * 2)
    (event,) = data_of(recorder)["events"]
    assert event["additions"]["ranks"] == (1, 3)
    assert event["additions"]["sums"][0]["total"] == str(mean)


def test_the_result_of_a_sum_is_that_of_the_replica_that_gets_it():
    recorder = begun(2)
    brought = [[np.float32([1.5])], [np.float32([2.25])]]
    call(recorder, ("reduce", "SUM", None, "root 1", None, ()), [0, 1], brought, [[], [np.float32([3.75])]])
    (event,) = data_of(recorder)["events"]
    assert event["additions"]["sums"][0]["total"] == "3.75"
    assert "ranks" not in event["additions"]
