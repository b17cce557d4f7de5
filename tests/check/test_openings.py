"""`check` opens a backend once for each run, and closes each that it opened: reading a capability opens none more."""

import sys
from dataclasses import replace

import pytest

import simstrategy as ss
from simstrategy.check.openings import Openings
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import BackendNotFound, InvalidArgument
from simstrategy.schedules import InOrder, Seeded
from simstrategy.sim import open_sim

NAME = "openings_of_a_test"
RUNS_OF_REFERENCE = 2 + 3
"""Twice as it is, and once for each pattern of moved inputs."""


class Counted(Wrapper):
    """A simulator that keeps the numbers of replicas that it was opened with, and of those that were closed."""

    __slots__ = ("replicas",)
    opened, closed = [], []

    def __init__(self, inner, replicas):
        Wrapper.__init__(self, inner)
        self.replicas = replicas
        self.opened.append(replicas)

    def close(self):
        self.closed.append(self.replicas)
        self._inner.close()


def open_counted(*, replicas=None):
    return Counted(open_sim(replicas=replicas), replicas)


def open_spanning(*, replicas=None):
    backend = open_counted(replicas=replicas)
    backend.capabilities = replace(backend.capabilities, spans_processes=True)
    return backend


def program(strategy):
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.0))


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    monkeypatch.setitem(sys.modules, NAME, sys.modules[__name__])
    monkeypatch.setattr(Counted, "opened", [])
    monkeypatch.setattr(Counted, "closed", [])
    return Counted


def test_every_opening_serves_a_run(counted):
    schedules = [InOrder, lambda: Seeded(1)]
    assert ss.check(
        program, backends=[f"{NAME}:open_counted"], replicas=[3, 2], schedules=schedules, without=["replicas"]
    ).agrees
    runs = RUNS_OF_REFERENCE + 1
    assert counted.opened == [3] * runs + [2] * runs
    assert counted.closed == counted.opened


def test_a_second_backend_is_opened_for_its_own_runs_alone(counted):
    assert ss.check(program, backends=["sim", f"{NAME}:open_counted"], replicas=[1, 3], without=["replicas"]).agrees
    assert counted.opened == counted.closed == [1, 3]


def test_a_name_that_is_given_twice_is_opened_for_the_runs_of_one(counted):
    assert ss.check(program, backends=[f"{NAME}:open_counted"] * 2, replicas=[2]).verdict == "undecided"
    assert counted.opened == counted.closed == [2] * RUNS_OF_REFERENCE


def test_a_backend_that_spans_processes_is_opened_and_closed_once_here(counted):
    with pytest.raises(InvalidArgument, match=r"open_spanning runs in several processes: give the numbers of workers"):
        ss.check(program, backends=[f"{NAME}:open_counted", f"{NAME}:open_spanning"], replicas=[2])
    assert sorted(counted.opened) == sorted(counted.closed) == [2, 2]


def test_what_no_run_took_is_closed_where_another_backend_cannot_be_opened(counted):
    with pytest.raises(BackendNotFound):
        ss.check(program, backends=[f"{NAME}:open_counted", "no_such_backend"], replicas=[2])
    assert counted.opened == counted.closed == [2]


def test_another_number_of_replicas_is_another_opening(counted):
    openings = Openings([f"{NAME}:open_counted"], 2)
    other, first, again = (openings.take(f"{NAME}:open_counted", count) for count in (3, 2, 2))
    assert (other.replicas, first.replicas, again.replicas, counted.opened) == (3, 2, 2, [2, 3, 2])
    assert first is not again
    openings.close()
    assert counted.closed == []
