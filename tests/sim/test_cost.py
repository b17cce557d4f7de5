"""Declared costs: formulas of collectives, and what is refused."""

import math

import pytest

import simstrategy as ss
from simstrategy.sim import Cost

ALPHA, BETA, SIZE = 0.5, 0.25, 48


# Clauses: M-21
@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 64])
def test_an_all_reduce_takes_the_time_of_its_formula(count):
    cost = Cost(alpha_s=ALPHA, beta_s_per_byte=BETA)
    ring = 2 * (count - 1) * (ALPHA + BETA * SIZE / count)
    tree = 2 * math.ceil(math.log2(count)) * (ALPHA + BETA * SIZE)
    linear = 2 * (count - 1) * (ALPHA + BETA * SIZE)
    assert cost.seconds("all_reduce", count, SIZE, "ring") == pytest.approx(ring, rel=1e-12)
    assert cost.seconds("all_reduce", count, SIZE, "tree") == tree
    assert cost.seconds("all_reduce", count, SIZE, "linear") == linear


# Clauses: M-21
def test_the_other_calls_take_the_times_of_their_formulas():
    cost = Cost(alpha_s=ALPHA, beta_s_per_byte=BETA)
    found = {
        (call, algorithm): cost.seconds(call, 4, SIZE, algorithm)
        for call in ("reduce", "broadcast", "all_gather", "reduce_scatter")
        for algorithm in ("linear", "ring", "tree")
    }
    message, block = ALPHA + BETA * SIZE, ALPHA + BETA * SIZE / 4
    assert found == {
        ("reduce", "linear"): 3 * message,
        ("reduce", "ring"): 6 * block,
        ("reduce", "tree"): 2 * message,
        ("broadcast", "linear"): 3 * message,
        ("broadcast", "ring"): 3 * message,
        ("broadcast", "tree"): 2 * message,
        ("all_gather", "linear"): 3 * message + 3 * (ALPHA + BETA * 4 * SIZE),
        ("all_gather", "ring"): 3 * message,
        ("all_gather", "tree"): 2 * ALPHA + BETA * 3 * SIZE,
        ("reduce_scatter", "linear"): 3 * message + 3 * block,
        ("reduce_scatter", "ring"): 3 * block,
        ("reduce_scatter", "tree"): 2 * ALPHA + BETA * SIZE * 3 / 4,
    }


def test_one_device_alone_sends_nothing():
    assert Cost(alpha_s=1.0).seconds("all_reduce", 1, 8, "tree") == 0


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"compute_s": -1}, "compute_s is a number of seconds, got -1"),
        ({"alpha_s": float("nan")}, "alpha_s is a number of seconds, got nan"),
        ({"row_s": True}, "row_s is a number of seconds, got True"),
        ({"beta_s_per_byte": "fast"}, "beta_s_per_byte is a number of seconds, got 'fast'"),
        ({"slow": {2: 0}}, "slow has a factor above 0"),
        ({"slow": {-1: 2}}, "slow has a factor above 0"),
        ({"slow": [2]}, "slow has a factor above 0"),
        ({"algorithm": "star"}, "no order of additions named 'star'"),
        ({"overlap": 1}, "overlap is True or False, got 1"),
    ],
)
def test_a_wrong_cost_is_refused(settings, text):
    with pytest.raises(ss.errors.InvalidArgument, match=text):
        Cost(**settings)


def test_a_timeline_takes_a_recording_and_a_cost():
    recording = ss.trace.Recorder().recording()
    with pytest.raises(ss.errors.InvalidType, match="timeline takes a recording and a Cost, got 3"):
        ss.sim.timeline(3, Cost())
    with pytest.raises(ss.errors.InvalidType, match=r"Pass recorder\.recording\(\)"):
        ss.sim.timeline(recording, {"compute_s": 1})
    assert ss.sim.timeline(recording, Cost(compute_s=1.0)).end_s == 0
