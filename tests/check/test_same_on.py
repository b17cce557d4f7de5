"""`same_on` and `order`: exactly what is named is judged, and a setting that is not named is refused.

Clauses: J-33, J-34
"""

from contextlib import closing

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.clusters import run_cluster
from simstrategy.check.law_table import BY_SETTING, LAWS, NAMED
from simstrategy.check.laws import BY_NAME
from simstrategy.check.study import Settings, Study
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder, Seeded
from simstrategy.strategy import Semantics
from simstrategy.testing import assert_lawful
from simstrategy.testing.repeating import check_command

PARTS = np.float32([1e8, 1, -1e8, 1])


def total(strategy, accumulate=1):
    def step(x):
        ctx = ss.get_replica_context()
        return ctx.all_reduce("SUM", ctx.xp.sum(x))

    (batch,) = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(np.ones(8)).batch(8))
    return strategy.run(step, args=(batch,))


def ill_conditioned(strategy):
    def step():
        ctx = ss.get_replica_context()
        return ctx.all_reduce("SUM", PARTS[ctx.replica_id_in_sync_group])

    return strategy.run(step)


def laws(report):
    return list(dict.fromkeys(row.law for row in report.rows))


def test_the_table_has_the_laws_of_the_files_in_their_order():
    assert list(NAMED) == list(BY_NAME)
    assert set(LAWS) == {"repeat", *BY_SETTING, *NAMED}
    assert all(LAWS[name].needs for name in BY_SETTING)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"same_on": ["replicas"]}, ["repeat", "replicas"]),
        ({"same_on": ["order"]}, ["repeat", "order"]),
        ({"same_on": ["order", "replicas"]}, ["repeat", "replicas", "order"]),
        ({"same_on": ["schedules"], "schedules": [lambda: Seeded(1)]}, ["repeat", "schedules"]),
        ({"same_on": ["workers"], "workers": [2], "schedules": [lambda: Seeded(1)]}, None),
        ({"same_on": ["cut"], "vary": {"accumulate": [1, 2]}}, ["repeat", "cut"]),
    ],
)
def test_exactly_what_is_named_is_judged(settings, found):
    if found is None:
        with pytest.raises(InvalidArgument, match="The setting schedules gives runs to compare"):
            ss.check(total, replicas=[1, 2], **settings)
        return
    report = ss.check(total, replicas=[1, 2], **settings)
    assert report.agrees, str(report)
    assert laws(report) == found


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {"same_on": ["colour"]},
            "'colour' is none of backends, schedules, workers, compiled, replicas, state, cut, order",
        ),
        ({"same_on": ["all"]}, "'all' is none of"),
        ({"same_on": "replicas"}, "same_on is a list"),
        ({"same_on": [3]}, "same_on is a list of str"),
        ({"same_on": ["replicas"], "laws": ["order"]}, "laws and without .* have nothing to add"),
        ({"same_on": ["replicas"], "without": ["cut"]}, "laws and without .* have nothing to add"),
        ({"same_on": ["backends"]}, "same_on names 'backends', which has nothing to compare: give several backends"),
        ({"same_on": ["workers"]}, "'workers', which has nothing to compare"),
        ({"same_on": ["schedules"]}, "'schedules', which has nothing to compare"),
        ({"same_on": ["cut"]}, "'cut', which has nothing to compare: give an argument with several values"),
        ({"same_on": ["replicas"], "replicas": [2]}, "'replicas', which has nothing to compare"),
        ({"same_on": ["replicas"], "workers": [2]}, "The setting workers gives runs to compare"),
        ({"same_on": ["replicas"], "vary": {"accumulate": [1, 2]}}, "The setting vary gives runs to compare"),
        ({"order": "spiral"}, "no order of additions named 'spiral'; choose from"),
        ({"order": 3}, "no order of additions named 3"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(settings, text):
    with pytest.raises(InvalidArgument, match=text):
        ss.check(total, **settings)


def test_a_law_that_was_asked_for_and_has_no_run_is_not_judged():
    report = ss.check(total, replicas=[1], laws=["order"], schedules=[lambda: Seeded(1)])
    assert report.verdict == "undecided"
    (row,) = [row for row in report.rows if row.law == "order"]
    assert row.undecided == (
        "the law of order: nothing was compared; give a number of replicas above 1, since one replica has no order"
    )
    assert ss.check(total, replicas=[1, 2], laws=["cut"]).verdict == "undecided"
    assert "not judged: nothing to compare" in str(ss.check(total, replicas=[1, 2], laws=["all"], without=["faults"]))


def test_the_order_of_additions_is_that_of_all_runs():
    found = {
        order: ss.check(ill_conditioned, replicas=[4], order=order, same_on=["order"]).rows
        for order in ("linear", "ring", "tree")
    }
    added = {order: [row.schedule for row in rows][1:3] for order, rows in found.items()}
    assert added["linear"] == ["added as a ring", "added as a tree"]
    assert added["ring"] == ["added in rank order", "added as a tree"]
    assert added["tree"] == ["added in rank order", "added as a ring"]
    # 1e8 + 1 - 1e8 + 1 is 1 in rank order and 0 as a tree.
    assert "1.0 against 0.0" in found["tree"][1].undecided


def test_a_backend_that_is_no_simulator_has_no_order_to_choose():
    pytest.importorskip("torch")
    with pytest.raises(InvalidArgument, match="none of torch is a simulator"):
        ss.check(total, backends=["torch"], order="ring")


@pytest.mark.parametrize(("order", "sum_of_all"), [("linear", 1.0), ("tree", 0.0)])
def test_a_cluster_adds_in_the_order_that_is_named(order, sum_of_all):
    settings = Settings(Semantics.TF2, 60.0, allow_errors=False, order=order)
    with closing(Study(ill_conditioned, ["sim"], [1], [4], [InOrder], settings)) as study:
        outcomes = run_cluster(study, 4)
    assert [outcome.leaves[0][1].item() for outcome in outcomes] == [sum_of_all] * 4


def test_the_assertion_and_its_command_have_the_same_names():
    assert laws(assert_lawful(total, replicas=[1, 2], same_on=["replicas"], order="ring")) == ["repeat", "replicas"]
    command = check_command(total, {"replicas": [1, 2], "same_on": ["replicas", "order"], "order": "ring"})
    assert command is None or command.endswith("--replicas 1,2 --same-on replicas,order --order ring")
