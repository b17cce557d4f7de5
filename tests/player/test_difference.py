"""The first difference of two runs; where a run that is equal up to there ended with an error, there is none."""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player.data import run_data
from simstrategy.player.difference import first_difference
from simstrategy.player.stops import events_of, stops_of

context = ss.get_replica_context
FILE = "test_difference.py"


def run_of(recording):
    events = events_of(recording)
    return events, stops_of(events)


def difference(reference, other):
    """Returns the difference of two recordings, and the events of its stops."""
    one, two = run_of(reference), run_of(other)
    found = first_difference(one, two)
    return found, two[0][two[1][found.here].event], one[0][one[1][found.there].event]


class Sums:
    """A program that adds twice.  Its replica function has equal words in all runs: it closes over no number."""

    def __init__(self, value, *, raises=False, in_replica=False):
        self.value, self.raises, self.in_replica = value, raises, in_replica

    def __call__(self, strategy):
        strategy.run(self.step)
        if self.raises:
            raise ss.errors.InvalidArgument("of the program\nmore")

    def step(self):
        context().all_reduce("SUM", np.float32(self.value) / context().num_replicas_in_sync)
        if self.in_replica:
            raise ss.errors.InvalidArgument("of a replica")
        return context().all_reduce("SUM", np.float32(1) / context().num_replicas_in_sync)


def test_a_run_that_ended_with_an_error_has_no_first_difference_and_has_its_error(record):
    found, here, there = difference(record(Sums(4), 2), record(Sums(4, in_replica=True), 2))
    assert found.ended
    assert (here.kind, here.error[0], there.kind) == ("raised", "InvalidArgument", "all_reduce")
    assert found.text.startswith("This run ended with InvalidArgument: of a replica")
    assert found.text.endswith("Up to there no call, and no result that all replicas get, differs.")


def test_of_two_runs_the_one_that_ended_with_an_error_is_named(record):
    found, here, there = difference(record(Sums(4, in_replica=True), 2), record(Sums(4), 2))
    assert found.ended
    assert (here.kind, there.kind) == ("all_reduce", "raised")
    assert found.text.startswith("The other run ended with InvalidArgument: of a replica")


def test_an_error_after_all_calls_is_stated(record):
    one, two = record(Sums(4), 2), record(Sums(4, raises=True), 2)
    for who in ("This run", "The other run"):
        found, here, there = difference(*((one, two) if who == "This run" else (two, one)))
        assert found.ended
        assert found.text.startswith(f"{who} ended with InvalidArgument: of the program. Up to there")
        assert sorted([here.error is None, there.error is None]) == [False, True]


def test_an_error_of_the_same_place_and_text_is_no_difference(record):
    runs = [run_of(record(Sums(4, raises=True), count)) for count in (2, 4)]
    assert first_difference(*runs) is None


@pytest.mark.parametrize("fails", [{"raises": True}, {"in_replica": True}])
@pytest.mark.parametrize("is_reference", [False, True])
def test_a_difference_before_an_error_is_the_first_one(record, fails, is_reference):
    pair = record(Sums(4), 2), record(Sums(6, **fails), 2)
    found, here, there = difference(*(pair[::-1] if is_reference else pair))
    assert not found.ended
    assert found.text == "The results have different bits here, for the first time."
    assert here.kind == there.kind == "all_reduce"


class Rounded:
    """A program whose first sum has other bits with another number of replicas, and whose second sum is `far` more."""

    def __init__(self, far):
        self.far = far

    def __call__(self, strategy):
        strategy.run(self.step)

    def step(self):
        rank, count = int(context().replica_id_in_sync_group), context().num_replicas_in_sync
        part = np.float32([0.1, 0.7, 0.2, -3.0, 0.3, 0.4, 1e-3, 2.0])[rank::count]
        context().all_reduce("SUM", part.sum())
        return context().all_reduce("SUM", part.sum() + np.float32(self.far))


def test_what_rounding_may_explain_is_passed_over_where_more_follows(record):
    near, first, _ = difference(record(Rounded(0.0), 2), record(Rounded(0.0), 4))
    assert near.text == "The results have different bits here, for the first time. Rounding may explain all of them."
    far, second, _ = difference(record(Rounded(0.1), 2), record(Rounded(0.1), 4))
    assert far.text == "The results are apart here by more than rounding explains, for the first time."
    assert second.number > first.number


@pytest.mark.parametrize(("one", "other", "factor"), [(1, 2, "2"), (2, 1, "0.5")])
def test_a_result_that_is_larger_as_the_replicas_are_more_is_stated_as_such(record, one, other, factor):
    def program(strategy):
        return strategy.run(lambda: context().all_reduce("SUM", np.float32([0.3, -7.0])))

    found, _, _ = difference(record(program, one), record(program, other))
    assert found.text == (
        f"The results are {factor} times those of the other run here, for the first time: this run has {factor} times "
        f"its replicas. That is right for a sum that is divided by their number later."
    )


def test_a_multiple_that_no_number_of_the_dtype_is_explains_nothing(record):
    def step():
        return context().all_reduce("SUM", np.float32(3e38 if context().num_replicas_in_sync == 1 else 1.0))

    found, _, _ = difference(*[record(lambda strategy: strategy.run(step), count) for count in (1, 2)])
    assert found.text == "The results have different bits here, for the first time."


class Gathers(Sums):
    """A program that gathers a value of each replica, and adds up."""

    def step(self):
        context().all_gather(np.float32([1]), axis=0)
        return context().all_reduce("SUM", np.float32(self.value) / context().num_replicas_in_sync)


def test_another_shape_with_another_number_of_replicas_is_passed_over_where_more_follows(record):
    found, here, _ = difference(record(Gathers(4), 1), record(Gathers(5), 2))
    assert (here.kind, found.text) == (
        "all_reduce",
        "The results are apart here by more than rounding explains, for the first time.",
    )
    found, here, _ = difference(record(Gathers(4), 1), record(Gathers(4), 2))
    assert here.kind == "all_gather"
    assert "may follow from the number of replicas" in found.text


def test_a_run_without_a_first_difference_has_no_place_for_the_jump_to_it(record):
    reference, other = record(Sums(4), 2), record(Sums(4, in_replica=True), 2)
    data = run_data(other, name="other", sources={}, reference=reference)
    assert data["difference"]["ended"]
    assert data["marks"]["difference"] == []
    changed = run_data(record(Sums(6), 2), name="other", sources={}, reference=reference)
    assert changed["marks"]["difference"] == [changed["difference"]["here"]]


def test_a_variable_has_the_line_that_made_it(record):
    def program(strategy):
        with strategy.scope():
            for _ in range(2):
                ss.Variable(np.float32(0))
            ss.Variable(np.float32(0), name="one name")
            ss.Variable(np.float32(0), name="one name")

    line = program.__code__.co_firstlineno + 3
    made = {one["name"]: one.get("made") for one in run_data(record(program), name="run", sources={})["variables"]}
    assert [made[name] for name in ("Variable_0", "Variable_1")] == [f"{FILE}:{line}"] * 2
    assert set(made.values()) == {f"{FILE}:{line}", None}
