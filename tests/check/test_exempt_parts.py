"""Exempt containers, whose size may depend on the replicas, and names of values that look like patterns.

Clauses: J-12, J-85
"""

import pickle

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.exempt import matching
from simstrategy.errors import InvalidArgument
from simstrategy.schedules import InOrder

RIGHT = np.float32(0.25)


def verdict(program, exempt=None, **settings):
    settings = {"replicas": [1, 3], "schedules": [InOrder], **settings}
    return ss.check(program, exempt=exempt or {}, **settings).verdict


def timed(strategy, factor=2):
    """Returns a list, and a mapping, with items for each replica."""
    count = strategy.num_replicas_in_sync
    named = {f"cpu:{rank}": 1.5 * rank for rank in range(count)}
    return {"loss": RIGHT, "times": [0.5 * count] * (factor * count), "devices": named}


@pytest.mark.parametrize("form", ["{}", "{}/*", "{}/[0123456789c]*"])
def test_a_container_of_which_all_items_are_exempt_may_have_another_size(form):
    exempt = {form.format(name): "one for each device" for name in ("times", "devices")}
    assert verdict(timed, exempt) == "agree"
    for name in exempt:
        assert verdict(timed, {name: "one for each device"}) == "differ", "the other container is not exempt"


def test_a_program_that_exempts_a_container_agrees_and_one_without_it_does_not():
    def program(strategy, wrap=ss.exempt):
        times = timed(strategy)["times"]
        return {"loss": RIGHT, "times": wrap(times, reason="one for each device"), "set": wrap({*times}, reason="so")}

    assert verdict(program) == "agree"
    assert verdict(lambda strategy: program(strategy, wrap=lambda value, reason: value)) == "differ"


@pytest.mark.parametrize(
    ("of", "exempt"),
    [
        pytest.param(lambda one: {"a": RIGHT, **({"b": 1} if one else {})}, "b", id="a key"),
        pytest.param(lambda one: {"a": RIGHT, "c": [[1] * (3 - one)]}, "c/0/*", id="a list in a list"),
        pytest.param(lambda one: {"a": RIGHT, "c": [{"b": 1.5}] * (5 - one)}, "c/*/b", id="mappings"),
        pytest.param(lambda one: {"a": RIGHT, "c": [] if one else [1]}, "c/*", id="an empty list"),
    ],
)
def test_what_is_exempt_by_its_name_is_no_difference_of_structures(of, exempt):
    def program(strategy):
        return of(strategy.num_replicas_in_sync == 1)

    assert verdict(program) == "differ"
    assert verdict(program, {exempt: "one for each"}) == "agree"


@pytest.mark.parametrize(
    ("of", "exempt"),
    [
        pytest.param(lambda one: {"a": RIGHT, "c": [RIGHT] * (3 - one)}, "c/0", id="another item is too many"),
        pytest.param(lambda one: {"a": (RIGHT,) if one else [RIGHT], "b": 1}, "b", id="another type elsewhere"),
        pytest.param(lambda one: {"a": (RIGHT, 1) if one else [RIGHT, 1]}, "a/1", id="another type around"),
        pytest.param(lambda one: {"a": [], "b": 1} if one else {"b": 1}, "b", id="an empty container is left"),
    ],
)
def test_what_is_not_exempt_of_a_container_is_compared(of, exempt):
    assert verdict(lambda strategy: of(strategy.num_replicas_in_sync == 1), {exempt: "one for each"}) == "differ"


@pytest.mark.parametrize("kind", [list, tuple, ss.PerReplica])
def test_a_value_that_each_replica_exempts_is_exempt_also_in_a_list_with_an_item_for_each(kind):
    def program(strategy, wrap=ss.exempt):
        count = strategy.num_replicas_in_sync
        each = [{"size": wrap(2.5 * count, reason="its share"), "loss": RIGHT} for _ in range(count)]
        return kind(each)

    assert verdict(program) == "agree"
    assert verdict(lambda strategy: program(strategy, wrap=lambda value, reason: value)) == "differ"


def test_the_laws_of_the_cut_and_of_resume_leave_exempt_containers_out():
    def program(strategy, checkpoint, parts=1, first=1.0):
        done, total = checkpoint.restore() or (0, np.float32(0))
        times = [0.5] * (7 if checkpoint.restore() else 3)
        while done < 3:
            done, total = done + 1, np.float32(total + first)
            checkpoint.save(pickle.loads(pickle.dumps((done, total))))
        return {"total": total, "times": times * parts}

    settings = {"vary": {"parts": [1, 2]}, "laws": ["cut", "resume"]}
    assert verdict(program, {"times": "one for each part"}, **settings) == "agree"
    assert verdict(program, {"times/*": "one for each part"}, **settings) == "agree"
    found = ss.check(program, replicas=[1, 3], schedules=[InOrder], **settings).findings
    assert {one.law for one in found} == {"cut", "resume"}


def test_a_name_with_brackets_is_tried_as_it_stands():
    def program(strategy):
        count = strategy.num_replicas_in_sync
        return {"aug[0]": np.float32(count), "loss": RIGHT, "in": {"[a]": {"x": np.float32(count)}}}

    assert verdict(program, {"aug[0]": "drawn", "in/[a]/*": "drawn"}) == "agree"
    assert verdict(program, {"aug[0]": "drawn"}) == "differ"
    assert matching({"log/[01]": ""}, "result['log'][1]") == "log/[01]"
    assert matching({"log/[01]": ""}, "result['log'][2]") is None
    with pytest.raises(InvalidArgument, match="names no value of this program"):
        ss.check(program, replicas=[1, 3], exempt={"aug[1]": "drawn"})
