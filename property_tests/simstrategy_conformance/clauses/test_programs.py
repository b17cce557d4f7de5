"""Whole programs, of everything at once: the same on every backend, under every schedule, by every carrier."""

from typing import Any

import pytest
from hypothesis import strategies as st

from simstrategy_conformance.checking import property_test
from simstrategy_conformance.coverage import count_words
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import difference
from simstrategy_conformance.program import Program
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.verdict import agrees, fail


@property_test("E-1", program=programs, share=3.0)
def test_a_program_comes_to_the_same_everywhere(subject: Subject, program: Program) -> None:
    count_words("test_a_program_comes_to_the_same_everywhere", program)
    agrees(subject, program)


def scheduled(subject: Subject) -> st.SearchStrategy[Program]:
    return programs(subject, stops=False, replicas_min=2, body=("all_reduce", "merge", "write", "seed", "all_gather"))


@property_test("E-2", program=scheduled, draws=st.lists(st.integers(0, 5), min_size=1, max_size=10), share=0.5)
def test_a_schedule_changes_the_order_and_no_result(subject: Subject, program: Program, draws: list[int]) -> None:
    in_order, _ = subject.observe(_with(program, ()))
    shuffled, drawn = subject.observe(_with(program, tuple(draws)))
    differs = difference(in_order.result, shuffled.result)
    # An error names the replica that raised it first, which the schedule decides.
    endings = [None if one.error is None else one.error[0] for one in (in_order, shuffled)]
    if differs is not None or endings[0] != endings[1]:
        fail(subject, program, drawn, differs or f"{endings[0]} under InOrder, {endings[1]} under this schedule")


@property_test("E-3", program=lambda subject: programs(subject, workers_max=1), share=0.5)
def test_threads_carry_replicas_as_well(subject: Subject, program: Program) -> None:
    agrees(subject, program, executor="thread")


@property_test("E-4", program=lambda subject: programs(subject, stops=False), share=0.3)
def test_running_a_program_again_comes_to_the_same(subject: Subject, program: Program) -> None:
    if not subject.open(program.replicas).capabilities.reproducible_bits:
        pytest.skip("the backend claims no reproducible bits")
    (one, drawn), (two, _) = subject.observe(program), subject.observe(program)
    differs = difference(one.result, two.result)
    if differs is not None or one != two._replace(result=one.result):
        fail(subject, program, drawn, f"the second run differs: {differs or 'in its errors, warnings or trace'}")


def clustered(subject: Subject) -> st.SearchStrategy[Program]:
    if not subject.is_simulator:
        pytest.skip("simulated clusters are the simulator's alone")
    return programs(subject, workers_max=3, stops=False).filter(lambda program: program.workers > 1)


@property_test("K-1", program=clustered, share=0.3)
def test_workers_do_what_one_process_would(subject: Subject, program: Program) -> None:
    agrees(subject, program)


def _with(program: Program, draws: tuple[int, ...]) -> Program:
    fields: dict[str, Any] = {name: getattr(program, name) for name in Program.__slots__}
    return Program(**fields | {"draws": draws})
