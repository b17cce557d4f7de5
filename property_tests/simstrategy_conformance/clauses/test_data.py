"""Datasets: who gets which elements, and passes over them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance import oracle
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import host
from simstrategy_conformance.program import Program
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.verdict import agrees


def steps_of(subject: Subject, count: int, size: int, batch: int) -> Any:
    strategy = subject.strategy(count)
    numbers = np.arange(size, dtype=np.int32)
    return strategy, strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(numbers).batch(batch))


def elements(subject: Subject, strategy: Any, steps: Any, count: int) -> list[list[list[int]]]:
    found = []
    for step in steps:
        parts = strategy.experimental_local_results(step)
        found.append([host(part, subject.open(count)).tolist() for part in parts])
    return found


@property_test("D-1", count=st.integers(1, 4), size=st.integers(0, 9), batch=st.integers(1, 6))
def test_a_batch_is_cut_into_equal_chunks_and_a_rest(subject: Subject, count: int, size: int, batch: int) -> None:
    strategy, steps = steps_of(subject, count, size, batch)
    wanted = []
    for start in range(0, size, batch):
        numbers = list(range(start, min(start + batch, size)))
        wanted.append([numbers[first:last] for first, last in oracle.chunks(len(numbers), count)])
    found = elements(subject, strategy, steps, count)
    strategy.close()
    assert found == wanted, f"{size} elements in batches of {batch} on {count} replicas: {found}, expected {wanted}"


@property_test("D-4", program=lambda s: programs(s, data=True, variables=False, stops=False, body_max=3, workers_max=1))
def test_programs_see_their_parts_of_datasets_and_empty_ones(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("D-2", count=st.integers(1, 3), size=st.integers(1, 5), batch=st.integers(1, 3), stop=st.integers(0, 2))
def test_every_pass_begins_from_the_start(subject: Subject, count: int, size: int, batch: int, stop: int) -> None:
    strategy, steps = steps_of(subject, count, size, batch)
    first = elements(subject, strategy, steps, count)
    iterator = iter(steps)
    for _ in range(min(stop, len(first))):
        next(iterator)
    again = elements(subject, strategy, steps, count)
    strategy.close()
    assert again == first, f"the first pass gave {first}, a later one {again}"


@clause("D-2")
def test_a_replica_function_cannot_ask_for_the_next_step(subject: Subject) -> None:
    strategy, steps = steps_of(subject, 2, 4, 2)
    iterator = iter(steps)
    with pytest.raises(ss.errors.ContextError, match="outside of the replica function"):
        strategy.run(lambda: next(iterator))
    strategy.close()
