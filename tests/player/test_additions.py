"""Every partial sum of a page is that of the simulator, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy.player.additions import additions_of
from simstrategy.trace import Recorder

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100)


def recorded(values, op="SUM", order="linear", call="all_reduce"):
    """Records one call of as many replicas as there are values, and its additions."""
    recorder = Recorder()
    backend = ss.backend("sim", replicas=len(values), order=order)
    strategy = ss.Strategy.mirrored(backend, trace=recorder)
    recorder.describe(order=order)
    if call == "all_reduce":
        strategy.run(lambda: context().all_reduce(op, values[context().replica_id_in_sync_group]))
    else:
        strategy.reduce(op, ss.PerReplica(values), axis=call)
    recording = recorder.recording()
    (found,) = additions_of(recording).values()
    point = next(one for one in recording.points if one.kind != "run")
    return found, point


context = ss.get_replica_context


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(2, 9), st.integers(1, 12), st.sampled_from(["linear", "ring", "tree"]))
def test_totals_are_the_recorded_results_in_every_order(data, replicas, size, order):
    rows = data.draw(st.lists(st.lists(FLOATS, min_size=size, max_size=size), min_size=replicas, max_size=replicas))
    values = [np.asarray(row, np.float32) for row in rows]
    found, point = recorded(values, order=order)
    assert found.left is None
    assert found.order == order
    result = point.outputs[0][0].array
    for one in found.sums:
        assert one.terms == tuple(str(value[one.element]) for value in values)
        assert one.total == str(result[one.element])
        assert one.steps[-1][2] == one.total
        assert len(one.steps) == replicas - 1


def test_partial_sums_are_rounded_one_by_one():
    found, _ = recorded([np.float32(1e8), np.float32(3), np.float32(3)])
    (one,) = found.sums
    assert one.steps == ((0, 1, "1e+08"), (-1, 2, "1e+08"))
    found, _ = recorded([np.float32(3), np.float32(3), np.float32(1e8)])
    assert found.sums[0].steps == ((0, 1, "6.0"), (-1, 2, "1.0000001e+08"))


def test_a_ring_begins_the_blocks_at_different_replicas():
    found, _ = recorded([np.arange(4, dtype=np.float32)] * 2, order="ring")
    assert [one.steps[0][:2] for one in found.sums] == [(1, 0), (1, 0), (0, 1), (0, 1)]


def test_sums_that_are_not_finite_are_shown_as_they_are():
    with np.errstate(all="ignore"):
        found, _ = recorded([np.float32(np.inf), np.float32(-np.inf), np.float32(1)])
    assert [text for _, _, text in found.sums[0].steps] == ["nan", "nan"]


def test_a_mean_is_divided_once_at_the_end():
    found, _ = recorded([np.float32(1), np.float32(2), np.float32(2)], op="MEAN")
    assert found.sums[0].steps[-1][2] == "5.0"
    assert (found.sums[0].total, found.sums[0].divided_by) == ("1.6666666", 3)


def test_a_reduce_along_an_axis_adds_the_sums_of_the_replicas_and_divides_by_all_rows():
    found, _ = recorded([np.float32([1, 2, 3]), np.float32([4])], op="MEAN", call=0)
    assert found.own
    assert found.sums[0].terms == ("6.0", "4.0")
    assert (found.sums[0].total, found.sums[0].divided_by) == ("2.5", 4)


@pytest.mark.parametrize(("count", "text"), [(1, "One replica alone"), (300, "more than 256")])
def test_what_is_not_shown_has_its_reason(count, text):
    found, _ = recorded([np.float32(1)] * count)
    assert not found.sums
    assert text in found.left


def test_a_result_that_no_order_gives_has_no_additions():
    recorder = Recorder()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=recorder)
    strategy.run(lambda: context().all_reduce("SUM", np.float32(2)))
    recording = recorder.recording()
    points = tuple(one._replace(outputs=one.inputs) if one.kind == "all_reduce" else one for one in recording.points)
    (found,) = additions_of(recording._replace(points=points)).values()
    assert "not that of an addition" in found.left
