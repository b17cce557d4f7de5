"""Values that devices recorded become calls and steps, whatever the order in which they came.

Clauses: J-64.
"""

import numpy as np

from simstrategy_xla.mesh_check.calls import calls_of
from simstrategy_xla.mesh_check.jobs import Moment, Record, Site

ONE = np.float32(1.0)


def site(number, module=0, *, in_loop=False, devices=1, place="train.py:1", kind="all_reduce"):
    return Site(number, module, kind, "SUM", place, in_loop, devices, 1)


def moments(*numbers, device=0):
    return [Moment(number, device, (ONE * number, ONE)) for number in numbers]


def steps(sites, seen):
    return [(call.site.number, call.step) for call in calls_of(Record(tuple(sites), tuple(seen)))]


def test_a_step_ends_where_a_program_runs_again_though_its_operations_come_in_another_order():
    sites = [site(0), site(1, place="train.py:2"), site(2, 1, place="train.py:9")]
    found = steps(sites, moments(1, 0, 2, 0, 1, 2))
    assert found == [(0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)]


def test_turns_of_a_loop_belong_to_the_run_that_has_them():
    sites = [site(0, in_loop=True), site(1, place="train.py:2")]
    assert steps(sites, moments(0, 0, 1, 0, 0, 1)) == [(0, 1), (0, 1), (1, 1), (0, 2), (0, 2), (1, 2)]


def test_every_turn_is_a_step_where_all_is_in_one_loop():
    sites = [site(0, in_loop=True), site(1, in_loop=True, place="train.py:2")]
    assert steps(sites, moments(0, 1, 0, 1)) == [(0, 1), (1, 1), (0, 2), (1, 2)]


def test_a_function_that_was_compiled_twice_is_one_program():
    sites = [site(0), site(1, 1)]
    assert steps(sites, moments(0, 1, 1)) == [(0, 1), (0, 2), (0, 3)]


def test_a_call_has_the_values_of_all_devices_and_needs_all_of_them():
    sites = [site(0, devices=2)]
    seen = [*moments(0), *moments(0, device=1), *moments(0)]
    (call,) = calls_of(Record(tuple(sites), tuple(seen)))
    assert [len(parts) for parts in call.values] == [2, 2]


def test_one_turn_of_all_operations_of_a_loop_comes_before_the_next_one():
    body = [site(number, in_loop=True, place=f"train.py:{number}")._replace(block=1) for number in (0, 3)]
    inner = [site(number, in_loop=True, place=f"train.py:{number}")._replace(block=2) for number in (1, 2)]
    sites = [body[0], *inner, body[1], site(4, place="train.py:9")]
    turn = moments(0, 1, 2, 1, 2, 3)
    found = steps(sites, [*turn, *turn, *moments(4)])
    assert [number for number, _ in found] == [0, 1, 2, 1, 2, 3, 0, 1, 2, 1, 2, 3, 4]
