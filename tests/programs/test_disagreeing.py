"""Replicas that disagree hear of it at once, all in the same words; a replica's own exception comes out unchanged."""

import warnings
from contextlib import closing
from typing import Final, Literal

import pytest
from disagreeing import DISAGREEING
from program_catalogue import Program
from program_machines import Machines
from raising import RAISING

import simstrategy as ss
from simstrategy.errors import CallSitesDiffer, ReplicasDisagree
from simstrategy.schedules import InOrder, Schedule, Seeded

Executor = Literal["auto", "greenlet", "thread"]
BACKENDS: Final = ("tensorflow", "torch", "xla")

every_disagreement = pytest.mark.parametrize("name", DISAGREEING)
every_raising = pytest.mark.parametrize("name", RAISING)


def failure(
    program: Program, machines: Machines, backend: str, replicas: int, executor: Executor, schedule: Schedule
) -> Exception:
    """Returns the exception that a program ends in."""
    opened = machines.open(backend, replicas)
    with closing(ss.Strategy.mirrored(opened, executor=executor, schedule=schedule)) as strategy:
        with warnings.catch_warnings():
            # Two of the programs meet from different lines before they disagree.
            warnings.simplefilter("ignore", CallSitesDiffer)
            with pytest.raises(Exception) as raised:  # noqa: PT011 - the caller looks at class and text
                program(strategy)
        return raised.value


# Clauses: M-2, M-5, M-8
@pytest.mark.parametrize("executor", ["greenlet", "thread"])
@every_disagreement
def test_a_disagreement_has_one_line_for_every_replica(name: str, executor: Executor, machines: Machines) -> None:
    case = DISAGREEING[name]
    for replicas in (2, 3, 4, 5):
        error = failure(case.program, machines, "sim", replicas, executor, InOrder())
        assert (type(error), str(error)) == (ReplicasDisagree, case.message(replicas))
        assert len(str(error).splitlines()) == 1 + replicas


@every_disagreement
def test_a_disagreement_reads_the_same_in_every_order_of_replicas(name: str, machines: Machines) -> None:
    case = DISAGREEING[name]
    for seed in (1, 2, 3):
        error = failure(case.program, machines, "sim", 4, "auto", Seeded(seed))
        assert (type(error), str(error)) == (ReplicasDisagree, case.message(4))


@pytest.mark.parametrize("backend", BACKENDS)
@every_disagreement
def test_a_disagreement_reads_the_same_on_every_backend(name: str, backend: str, machines: Machines) -> None:
    case = DISAGREEING[name]
    for replicas in (2, 3):
        error = failure(case.program, machines, backend, replicas, "auto", InOrder())
        assert (type(error), str(error)) == (ReplicasDisagree, case.message(replicas))


def test_disagreements_are_many() -> None:
    assert len(DISAGREEING) >= 30


# Clauses: M-3
@pytest.mark.parametrize("executor", ["greenlet", "thread"])
@every_raising
def test_an_exception_comes_out_unchanged_with_a_note_on_who_waited(
    name: str, executor: Executor, machines: Machines
) -> None:
    case = RAISING[name]
    for replicas in (1, 2, 3, 5):
        error = failure(case.program, machines, "sim", replicas, executor, InOrder())
        assert (type(error), str(error)) == (case.error, case.text)
        assert tuple(error.__notes__) == case.notes(replicas)


@pytest.mark.parametrize("backend", BACKENDS)
@every_raising
def test_an_exception_comes_out_unchanged_on_every_backend(name: str, backend: str, machines: Machines) -> None:
    case = RAISING[name]
    for replicas in (1, 2, 3):
        error = failure(case.program, machines, backend, replicas, "auto", InOrder())
        assert (type(error), str(error)) == (case.error, case.text)
        assert tuple(error.__notes__) == case.notes(replicas)
