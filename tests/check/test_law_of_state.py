"""The law of state: what is declared equal on all replicas is equal on all of them when the program ends.

Clause: J-35
"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.strategy import Semantics

pytestmark = pytest.mark.filterwarnings("ignore::simstrategy.errors.MirroredDiverged")

ONES = np.ones(2, np.float32)


def rank():
    return ss.get_replica_context().replica_id_in_sync_group


def step_of(strategy, change):
    """Returns a program's result: one variable, which a replica function changes twice."""
    with strategy.scope():
        kept = ss.Variable(np.zeros(2, np.float32), name="ema")
    for number in range(2):
        strategy.run(change, args=(kept, number))
    return {"loss": np.float32(1)}


def on_one_replica(strategy):
    def change(kept, number):
        if rank() == 0 and number:
            kept.assign_add(ONES)

    return step_of(strategy, change)


def on_all_replicas(strategy):
    def change(kept, number):
        kept.assign_add(ONES)

    return step_of(strategy, change)


def equal_in_the_end(strategy):
    def change(kept, number):
        kept.assign(ONES * (7 if number else rank()))

    return step_of(strategy, change)


def not_a_number(strategy):
    def change(kept, number):
        kept.assign(ONES * np.float32(np.nan))

    return step_of(strategy, change)


def of_each_replica(strategy):
    with strategy.scope():
        kept = ss.Variable(np.float32(0), name="seen", synchronization=ss.VariableSynchronization.ON_READ)

    def change():
        kept.assign(np.float32(rank()))

    strategy.run(change)
    return {"loss": np.float32(1)}


def changed_result(strategy):
    parts = [np.zeros(2, np.float32) for _ in range(strategy.num_replicas_in_sync)]
    kept = ss.Mirrored(parts)
    for number, part in enumerate(parts):
        np.add(part, number, out=part)
    return {"buffers": kept}


def named_and_not_equal(strategy):
    parts = ss.PerReplica([np.zeros(2, np.float32) for _ in range(strategy.num_replicas_in_sync)])
    strategy.require_equal_after_run("buffers", lambda: parts)

    def step(buffer):
        buffer += rank()

    strategy.run(step, args=(parts,))
    return {"loss": np.float32(1)}


def attribute_of_a_module(strategy):
    """Replicas of one process have one module: there is one value of its attribute, the last that was written."""

    class Module:
        scale = 0

    def step():
        ss.get_replica_context().all_reduce("SUM", 1.0)
        Module.scale = rank()

    strategy.run(step)
    return {"scale": np.float32(Module.scale != strategy.num_replicas_in_sync - 1)}


def judged(program, **settings):
    settings = {"replicas": [1, 3], "semantics": Semantics.TF2} | settings
    return ss.check(program, **settings)


def states(report):
    return [(row.replicas, row.problem is None) for row in report.rows if row.law == "state"]


def test_a_variable_that_one_replica_wrote_is_found_by_default_with_the_line():
    report = judged(on_one_replica)
    assert report.verdict == "differ"
    (finding,) = report.findings
    assert finding.law == "state"
    assert finding.text.startswith(
        "variable 0 'ema' must be equal on all replicas, and is not: in the end element [0] is 1.0 on replica 0 and "
        "0.0 on replica 1\n  'ema' is left unequal first by assign_add at test_law_of_state.py:"
    )
    assert ", in run 2" in finding.text


def test_state_that_is_equal_in_the_end_is_a_row_where_it_was_asked_for():
    for program in (on_all_replicas, equal_in_the_end, not_a_number):
        assert states(judged(program)) == []
        report = judged(program, laws=["state"])
        assert report.agrees, str(report)
        assert states(report) == [("3", True)]
        assert "; law of state" in str(report).splitlines()[-1]


def test_what_each_replica_keeps_for_itself_is_not_declared_equal():
    report = judged(of_each_replica, laws=["state"])
    assert report.verdict == "undecided"
    assert "the program has no mirrored variable" in str(report)
    assert judged(of_each_replica).agrees


def test_a_mirrored_value_of_the_result_is_compared():
    report = judged(changed_result, without=["replicas"])
    assert [finding.law for finding in report.findings] == ["state"]
    assert report.findings[0].text.startswith("result['buffers'] must be equal on all replicas, and is not")


def test_an_exemption_takes_a_variable_out():
    report = judged(on_one_replica, exempt={"ema": "a scratch of each replica"})
    assert report.agrees, str(report)
    assert "Exempt: variable 0 'ema': a scratch of each replica" in str(report)


def test_it_can_be_left_out():
    assert judged(on_one_replica, without=["state"]).agrees
    assert judged(on_one_replica, same_on=["replicas"]).agrees


def test_the_replicas_of_workers_are_compared_too():
    report = judged(on_one_replica, workers=[2], replicas=[1])
    assert [(finding.law, finding.replicas) for finding in report.findings] == [("state", "2 × 1")]


def test_what_a_program_names_is_compared_at_the_end_of_each_run():
    report = judged(named_and_not_equal)
    assert report.verdict == "differ"
    assert "ReplicasDisagree: require_equal 'buffers' found unequal values" in str(report)


def test_an_attribute_has_one_value_for_all_replicas_and_the_law_of_order_finds_who_wrote_it_last():
    assert judged(attribute_of_a_module, without=["replicas"], replicas=[3]).verdict == "undecided"
    report = judged(attribute_of_a_module, without=["replicas"], laws=["order"], replicas=[3])
    assert {finding.law for finding in report.findings} == {"order"}
