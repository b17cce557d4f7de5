"""Meetings: who asked for what and where, in messages, notes and warnings."""

import inspect
import warnings

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import CallSitesDiffer, ReplicasDisagree


def here():
    """The caller's line."""
    return inspect.currentframe().f_back.f_lineno


def lines_of(error):
    return [line.strip() for line in str(error.value).splitlines()[1:]]


def disagree(strategy, replica):
    with pytest.raises(ReplicasDisagree) as raised:
        strategy.run(replica)
    assert str(raised.value).startswith("Replicas make different collective calls here.")
    return lines_of(raised)


# Clauses: M-2
def test_the_message_has_one_line_per_replica_with_request_file_and_line(mirrored):
    line = here() + 4

    def replica():
        op = "MEAN" if ctx().replica_id_in_sync_group == 2 else "SUM"
        return ctx().all_reduce(op, np.zeros(2, np.float32))

    assert disagree(mirrored(3), replica) == [
        f"replica 0: all_reduce SUM float32[2] at test_coordinator.py:{line}",
        f"replica 1: all_reduce SUM float32[2] at test_coordinator.py:{line}",
        f"replica 2: all_reduce MEAN float32[2] at test_coordinator.py:{line}",
    ]


DIFFERENT = {
    "op": lambda r: ctx().all_reduce("SUM" if r else "MEAN", np.zeros(2, np.float32)),
    "kind": lambda r: ctx().all_reduce("SUM", 1.0) if r else ctx().all_gather(np.zeros(2, np.float32), 0),
    "closure": lambda r: ctx().merge_call(lambda strategy: r),
}


def test_equal_requests_meet_although_payloads_differ(mirrored):
    def replica():
        number = ctx().replica_id_in_sync_group
        return ctx().merge_call(lambda strategy, x: x, args=(np.ones(number + 1),))

    assert [one.shape for one in mirrored(3).run(replica).values] == [(1,), (2,), (3,)]


def test_a_note_tells_the_absent_of_the_round_at_hand(mirrored):
    def replica():
        ctx().all_reduce("SUM", 1.0)
        if ctx().replica_id_in_sync_group == 0:
            raise OSError("gone")
        ctx().all_reduce("SUM", 2.0)

    with pytest.raises(OSError, match="gone") as raised:
        mirrored(2).run(replica)
    assert raised.value.__notes__[0].splitlines()[1:] == ["  replica 1 had not started this call"]


def test_a_single_replica_gets_its_note_too(mirrored):
    def replica():
        raise OSError("alone")

    with pytest.raises(OSError, match="alone") as raised:
        mirrored(1).run(replica)
    assert raised.value.__notes__[0].startswith("In replica 0: OSError raised at test_coordinator.py:")


def test_an_exception_of_a_merge_function_has_no_note_of_a_replica(mirrored):
    def merge(strategy):
        raise OSError("merging")

    for count in (1, 2):
        with pytest.raises(OSError, match="merging") as raised:
            mirrored(count).run(lambda: ctx().merge_call(merge))
        assert not hasattr(raised.value, "__notes__")


def from_two_lines():
    if ctx().replica_id_in_sync_group:
        return ctx().all_reduce("SUM", np.float32(1))
    return ctx().all_reduce("SUM", np.float32(2))


# Clauses: M-4
def test_equal_requests_from_two_lines_are_combined_with_one_warning_per_pair(mirrored):
    strategy = mirrored(3)
    first = from_two_lines.__code__.co_firstlineno
    with pytest.warns(CallSitesDiffer) as caught:
        result = strategy.run(from_two_lines)
    assert [float(one) for one in result.values] == [4.0, 4.0, 4.0]
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "replica 0 and replica 1 make the same request, all_reduce SUM float32[]" in text
    assert f"test_coordinator.py:{first + 3} and test_coordinator.py:{first + 2}" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        strategy.run(from_two_lines)
    with pytest.warns(CallSitesDiffer):
        mirrored(2).run(from_two_lines)


# Clauses: M-4
def test_strict_checks_refuse_different_lines(mirrored):
    with pytest.raises(ReplicasDisagree, match=r"from different lines.*Call it from one line"):
        mirrored(2, checks="strict").run(from_two_lines)


def test_no_checks_say_nothing_of_lines_and_still_compare_requests(mirrored):
    strategy = mirrored(2, checks=False)
    assert [float(one) for one in strategy.run(from_two_lines).values] == [3.0, 3.0]
    disagree(strategy, lambda: DIFFERENT["op"](ctx().replica_id_in_sync_group))


def test_a_meeting_is_recorded_in_the_order_in_which_replicas_came(mirrored):
    trace = ss.trace.Trace()
    schedule = ss.schedules.Replayed([("task", 3, 2), ("task", 2, 0), ("task", 3, 0), ("task", 2, 0)])
    mirrored(3, trace=trace, schedule=schedule).run(lambda: ctx().all_reduce("SUM", 1.0))
    assert [(event.kind, event.replica) for event in trace.events()] == [
        ("run", None),
        ("all_reduce", 2),
        ("all_reduce", 0),
        ("all_reduce", 1),
    ]


def test_a_strategy_works_after_a_disagreement_and_after_an_exception(mirrored, executor):
    strategy = mirrored(2, executor=executor)
    for ask in DIFFERENT.values():
        disagree(strategy, lambda ask=ask: ask(ctx().replica_id_in_sync_group))
    result = strategy.run(lambda: ctx().all_reduce("SUM", 1.0))
    assert [float(one) for one in result.values] == [2.0, 2.0]
