"""The order of replicas, their synchronisation points, and the errors where they disagree."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.generate import programs
from simstrategy_conformance.program import Program
from simstrategy_conformance.subject import Subject, me
from simstrategy_conformance.verdict import agrees


def small(subject: Subject, *body: str, **more: Any) -> st.SearchStrategy[Program]:
    rules = {"body_max": 3, "after": (), "variables": False, "data": False, "draws": False, "workers_max": 1}
    return programs(subject, body=body, **rules | more)


@property_test("M-1", count=st.integers(1, 5), meetings=st.integers(0, 3))
def test_replicas_run_in_rank_order_from_meeting_to_meeting(subject: Subject, count: int, meetings: int) -> None:
    strategy, came = subject.strategy(count), []

    def replica() -> None:
        ctx = me()
        for turn in range(meetings):
            came.append((turn, ctx.replica_id_in_sync_group))
            ctx.all_reduce("SUM", np.float32(1))
        came.append((meetings, ctx.replica_id_in_sync_group))

    strategy.run(replica)
    strategy.close()
    assert came == [(turn, rank) for turn in range(meetings + 1) for rank in range(count)]


def disagreeing(subject: Subject) -> st.SearchStrategy[Program]:
    kinds = ("leave", "disagree")
    return small(subject, "all_reduce", "merge", replicas_min=2, stop_kinds=kinds, stop_certain=True)


@property_test("M-2", program=disagreeing)
def test_replicas_that_disagree_are_all_named(subject: Subject, program: Program) -> None:
    found = agrees(subject, program)
    assert found.error is not None
    assert all(f"replica {rank}: " in found.error[1] for rank in range(program.replicas))


@property_test("M-3", count=st.integers(1, 4), data=st.data())
def test_a_replicas_own_exception_ends_the_run_unchanged(subject: Subject, count: int, data: st.DataObject) -> None:
    strategy, stopped, raised = subject.strategy(count), data.draw(st.integers(0, count - 1)), KeyError("mine")
    reduces = data.draw(st.booleans())
    ended: list[int] = []

    def replica() -> None:
        ctx = me()
        try:
            if reduces:
                ctx.all_reduce("SUM", np.float32(1))
            if ctx.replica_id_in_sync_group == stopped:
                raise raised
            ctx.all_reduce("SUM", np.float32(1))
        finally:
            ended.append(ctx.replica_id_in_sync_group)

    with pytest.raises(KeyError) as caught:
        strategy.run(replica)
    assert caught.value is raised
    assert f"In replica {stopped}: " in "\n".join(raised.__notes__)
    assert set(ended) >= set(range(stopped + 1)), "a replica that had started did not run its finally block"
    assert strategy.run(lambda: "well") == "well", "the strategy is of no use after an exception"
    strategy.close()


@clause("M-4")
def test_equal_requests_from_different_lines_are_warned_of(subject: Subject) -> None:
    def replica() -> Any:
        ctx = me()
        if ctx.replica_id_in_sync_group:
            return ctx.all_reduce("SUM", np.float32(1))
        return ctx.all_reduce("SUM", np.float32(1))

    strategy = subject.strategy(2)
    with pytest.warns(ss.errors.CallSitesDiffer, match="from different lines"):
        strategy.run(replica)
    strategy.close()
    strict = subject.strategy(2, checks="strict")
    with pytest.raises(ss.errors.ReplicasDisagree):
        strict.run(replica)
    strict.close()


@property_test("M-5", program=lambda s: small(s, "merge", after=("local",), stops=False))
def test_a_merge_function_gets_all_values_and_hands_out_its_result(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("M-6", depth=st.integers(1, 3), count=st.integers(1, 3))
def test_runs_nest_in_merge_functions(subject: Subject, depth: int, count: int) -> None:
    strategy, backend = subject.strategy(count), subject.open(count)

    def replica(level: int) -> Any:
        ctx = me()
        if level == 0:
            return ctx.all_reduce("SUM", np.ones(1, np.float32))
        return ctx.merge_call(lambda s, number: s.run(replica, args=(number - 1,)), args=(level,))

    found = strategy.experimental_local_results(strategy.run(replica, args=(depth,)))
    strategy.close()
    assert [backend.get(one).tolist() for one in found] == [[float(count)]] * count
