"""Every portable program comes to the same on every backend: values to the bit, errors to the letter, and traces."""

from typing import Any, Final

import pytest
from agreeing import AGREEING
from gradients import GRADIENTS
from program_catalogue import Case
from program_machines import Machines, assert_same
from shares import one_in

from simstrategy.schedules import Seeded

ALL: Final[dict[str, Case]] = AGREEING | GRADIENTS
REPLICAS: Final = (1, 2, 3)

every_program = pytest.mark.parametrize("name", ALL)


@every_program
def test_a_program_comes_to_the_same_on_threads(name: str, machines: Machines) -> None:
    for replicas in REPLICAS:
        assert_same(
            machines.reference(ALL[name], replicas), machines.run(ALL[name], "sim", replicas, executor="thread")
        )


@every_program
def test_a_program_comes_to_the_same_when_it_is_run_again(name: str, machines: Machines) -> None:
    assert_same(machines.reference(ALL[name], 4), machines.run(ALL[name], "sim", 4))


# Which replica runs first is seen by those that ask who came before them, and by exceptions.
ORDER_SHOWS: Final = frozenset(
    (
        "a_context_of_another_replica",
        "calls_that_only_a_replica_may_make",
        "run_of_what_cannot_run",
        "a_replica_raises_where_nobody_meets",
        "a_replica_writes_an_unaggregated_variable",
        "a_replica_writes_another_shape",
        "a_replica_writes_another_dtype",
        "a_replica_raises_an_exception_of_its_own_class",
    )
)


@pytest.mark.parametrize("name", [name for name in ALL if name not in ORDER_SHOWS])
def test_a_program_comes_to_the_same_in_every_order_of_replicas(name: str, machines: Machines) -> None:
    for replicas in (2, 3):
        expected = machines.reference(ALL[name], replicas)
        for seed in (1, 2, 3):
            found = machines.run(ALL[name], "sim", replicas, schedule=lambda seed=seed: Seeded(seed))  # type: ignore[misc]
            assert_same(expected, found, traces=False)


@pytest.mark.parametrize("backend", ["tensorflow", "torch", "xla"])
@pytest.mark.parametrize("name", one_in(5, ALL))
def test_a_program_comes_to_the_same_on_every_backend(name: str, backend: str, machines: Machines) -> None:
    for replicas in REPLICAS:
        assert_same(machines.reference(ALL[name], replicas), machines.run(ALL[name], backend, replicas))


def test_programs_are_many_and_each_kind_of_number_is_among_them(machines: Machines) -> None:
    dtypes: set[str] = set()
    errors: set[str] = set()
    kinds: set[str] = set()
    for case in ALL.values():
        outcome: Any = machines.reference(case, 3).outcome
        dtypes |= {leaf.dtype.name for _, leaf in outcome.leaves}
        kinds |= {event.kind for event in outcome.events}
        errors |= {outcome.error[0]} if outcome.error else set()
    assert len(AGREEING) >= 60
    assert len(GRADIENTS) >= 6
    assert dtypes >= {"bool", "int8", "int32", "int64", "float16", "float32", "float64"}
    assert kinds >= {"run", "all_reduce", "all_gather", "merge_call", "reduce", "variable", "assign", "assign_sub"}
    assert errors >= {"InvalidArgument", "ValueError", "KeyError", "OutOfPaper"}
