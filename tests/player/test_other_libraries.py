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
        "After train.py:7 has run, loss differs between replicas: it is 1.0 on replica 0, 2.0 on replica 1.",
        "After train.py:7 has run, rate is 1.0 on all replicas.",
        "After train.py:7 has run, given is 3.0 on replica 1.",
    ]
    assert [one["apart"] for one in data["variables"]] == [True] * 3
    assert [event["label"] for event in data["events"]] == ["loss", "rate", "given"]
    assert not data["has_arrivals"]


def test_a_name_of_a_lone_replica_is_not_compared_with_anything():
    recorder = begun(1)
    recorder.wrote(0, None, "loss", HOLDS, (), [np.float32(1)], SITE)
    assert captions(data_of(recorder)) == ["After train.py:7 has run, loss is 1.0."]


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


def test_a_name_that_one_replica_gets_alone_is_stated_beside_the_values_of_the_others():
    recorder = begun(4)
    recorder.wrote(0, None, "stop", HOLDS, (), [np.int64(0)] * 4, SITE)
    for rank, value in ((0, 1), (3, 0), (3, 5), (2, 1)):
        recorder.wrote(0, rank, "stop", HOLDS, (), [np.int64(value)], SITE)
    recorder.wrote(0, None, "rows", HOLDS, (), [np.float32([rank, 1.5]) for rank in (0, 0, 1, 1)], SITE)
    recorder.wrote(0, 1, "rows", HOLDS, (), [np.zeros(9)], SITE)
    data = data_of(recorder)
    assert [text.removeprefix("After train.py:7 has run, ") for text in captions(data)] == [
        "stop is 0 on all replicas.",
        "stop is 1 on replica 0; replicas 1, 2 and 3 have 0.",
        "stop is 0 on replica 3; replica 0 has 1, replicas 1 and 2 have the same value.",
        "stop is 5 on replica 3; replica 0 has 1, replicas 1 and 2 have 0.",
        "stop is 1 on replica 2; replica 0 has the same value, replica 1 has 0, replica 3 has 5.",
        "rows differs between replicas: it is [0.0 1.5] on replicas 0 and 1, [1.0 1.5] on replicas 2 and 3.",
        "rows has this value on replica 1; replica 0 has [0.0 1.5], replicas 2 and 3 have [1.0 1.5].",
    ]
    assert [event.get("differs", False) for event in data["events"]] == [False, *[True] * 6]


def test_a_name_that_replicas_get_one_after_the_other_is_kept_for_each_of_them():
    recorder = begun(2)
    for rank, value in ((1, 7), (1, 8), (0, 9)):
        recorder.wrote(0, rank, "given", HOLDS, (), [np.int64(value)], SITE)
    data = data_of(recorder)
    (given,) = data["variables"]
    texts = [[(rank, *data["values"][value]["texts"]) for rank, value in changed] for _, _, changed in given["writes"]]
    assert texts == [[(1, "7")], [(1, "8")], [(0, "9")]]
    assert given["ranks"] == [0, 1]
    assert captions(data)[-1] == "After train.py:7 has run, given is 9 on replica 0; replica 1 has 8."


def test_an_infinite_value_that_a_name_begins_with_is_no_place_to_jump_to_on_any_replica():
    recorder = begun(2)
    values = [("best", None, [np.inf] * 2), ("best", 0, [3]), ("best", 1, [np.inf]), ("best", 0, [np.inf])]
    values += [("loss", 1, [1]), ("loss", 1, [np.inf]), ("mean", None, [1, np.nan])]
    for name, rank, each in values:
        recorder.wrote(0, rank, name, HOLDS, (), [np.float64(value) for value in each], SITE)
    assert data_of(recorder)["marks"]["not_finite"] == [3, 5, 6]


def test_what_a_script_does_not_use_is_no_event():
    recorder = begun(2)
    for name in ("_", "loss", "_"):
        recorder.wrote(0, None, name, HOLDS, (), [np.float64(1)] * 2, SITE)
    data = data_of(recorder)
    assert [event["label"] for event in data["events"]] == ["loss"]
    assert [one["name"] for one in data["variables"]] == ["loss"]
