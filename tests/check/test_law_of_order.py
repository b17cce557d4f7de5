"""The laws of order and of the cut, and all orders of the replicas.

Clauses: J-14, J-15
"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import Every, InOrder, Seeded

ROWS = np.float32([0.3, 1.5, 2.25, -0.7, 1.1, 0.4, -3.0, 0.9])


def ctx():
    return ss.get_replica_context()


def total(strategy):
    def step(x):
        return ctx().all_reduce("SUM", ctx().xp.sum(x))

    (batch,) = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(ROWS).batch(8))
    return strategy.run(step, args=(batch,))


def appended(strategy):
    """Replicas append to one list: its order depends on which runs first after each synchronisation."""
    seen = []

    def step():
        ctx().all_reduce("SUM", 1.0)
        seen.append(ctx().replica_id_in_sync_group)

    strategy.run(step)
    return {"order": np.asarray(seen), "sum": total(strategy)}


def rows(report, law):
    return [(row.replicas, row.schedule, row.problem is None) for row in report.rows if row.law == law]


def test_orders_of_additions_and_of_replicas_agree_within_rounding():
    report = ss.check(total, replicas=[1, 3], laws=["order"])
    assert report.agrees, str(report)
    assert rows(report, "order") == [
        ("3", "added as a ring", True),
        ("3", "added as a tree", True),
        ("3", "Seeded(1)", True),
        ("3", "Seeded(2)", True),
    ]


def test_a_race_on_shared_python_state_is_found():
    report = ss.check(appended, replicas=[3], laws=["order"], without=["replicas"])
    assert report.verdict == "differ"
    assert all("result['order']" in finding.text for finding in report.findings)
    assert {finding.law for finding in report.findings} == {"order"}


def test_another_reference_has_no_order_of_additions_to_choose():
    report = ss.check(total, backends=["simstrategy_template:open_template"], replicas=[2], laws=["order"])
    assert [what for _, what, _ in rows(report, "order")] == ["Seeded(1)", "Seeded(2)"]


def test_all_orders_are_tried_and_the_row_states_whether_it_was_all():
    report = ss.check(total, replicas=[2], schedules=[Every(100)], without=["replicas"])
    assert rows(report, "schedules") == [("2", "all 4 orders", True)]
    report = ss.check(total, replicas=[3], schedules=[Every(5)], without=["replicas"])
    assert rows(report, "schedules") == [("3", "5 of more orders", True)]


def test_the_first_order_that_differs_is_named_and_can_be_replayed():
    report = ss.check(appended, replicas=[2], schedules=[Every(100)], without=["replicas"])
    ((_, name, agrees),) = rows(report, "schedules")
    assert not agrees
    schedule = eval(name, {"Replayed": ss.schedules.Replayed})
    strategy = ss.Strategy.mirrored("sim", replicas=2, schedule=schedule)
    assert appended(strategy)["order"].tolist() == [1, 0]


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "all"])
def test_a_limit_is_a_number_above_0(limit):
    with pytest.raises(InvalidArgument, match="Every takes a number of schedules above 0"):
        Every(limit)


def accumulated(strategy, accumulate=1, wrong=False):
    """The gradient of a mean, in one piece or in several."""
    (batch,) = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(ROWS).batch(8))

    def step(x):
        xp = ctx().xp
        pieces = [x[number::accumulate] for number in range(accumulate)]
        sums = [xp.sum(piece) / (piece.shape[0] if wrong else 8) for piece in pieces]
        return sum(sums[1:], sums[0])

    return strategy.reduce("SUM", strategy.run(step, args=(batch,)), axis=None)


def test_an_argument_that_cuts_the_work_differently_changes_nothing():
    report = ss.check(accumulated, replicas=[1, 2], vary={"accumulate": [1, 2, 4]})
    assert report.agrees, str(report)
    assert [(count, what) for count, what, _ in rows(report, "cut")] == [
        ("1", "accumulate=2 against accumulate=1"),
        ("1", "accumulate=4 against accumulate=1"),
        ("2", "accumulate=2 against accumulate=1"),
        ("2", "accumulate=4 against accumulate=1"),
    ]


def test_a_window_that_divides_by_its_own_size_differs():
    def program(strategy, accumulate):
        return accumulated(strategy, accumulate, wrong=True)

    report = ss.check(program, replicas=[1], vary={"accumulate": [1, 2]})
    (finding,) = report.findings
    assert (finding.law, finding.schedule) == ("cut", "accumulate=2 against accumulate=1")


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        ({"steps": [1, 2]}, "The program takes no argument 'steps'"),
        ({"accumulate": [1]}, "vary needs at least two values for 'accumulate'"),
        ({"accumulate": "12"}, "vary needs at least two values"),
        ([("accumulate", [1, 2])], "vary maps arguments to values"),
        ({"accumulate": [1, 2, 1]}, "vary gives 'accumulate' the value 1 twice"),
        ({"strategy": [1, 2]}, "The program takes no argument 'strategy'"),
    ],
)
def test_an_argument_that_names_nothing_is_an_error(vary, text):
    with pytest.raises(InvalidArgument) as raised:
        ss.check(accumulated, replicas=[1], vary=vary)
    assert text in str(raised.value)


def test_a_value_that_raises_is_a_difference():
    def program(strategy, accumulate=1):
        if accumulate == 3:
            raise ValueError("no such window")
        return accumulated(strategy, accumulate)

    report = ss.check(program, replicas=[1], vary={"accumulate": [1, 3]})
    (finding,) = report.findings
    assert finding.text == "accumulate=1 gives a result, accumulate=3 raises ValueError: no such window"


@pytest.mark.parametrize(
    ("replicas", "schedule"),
    [(1, lambda: Seeded(1)), (1, Every(5)), (2, lambda: InOrder())],  # noqa: PLW0108
)
def test_no_agreement_is_stated_of_one_replica_in_another_order_or_of_the_same_order(replicas, schedule):
    report = ss.check(accumulated, replicas=[replicas], schedules=[schedule], require=["schedules"])
    assert [row.law for row in report.rows] == ["repeat"]
    assert report.verdict == "undecided"
