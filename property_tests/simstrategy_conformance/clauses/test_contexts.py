"""Who is current, what a replica is handed, and how results are put together again."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import host
from simstrategy_conformance.program import Program
from simstrategy_conformance.subject import Subject, me
from simstrategy_conformance.verdict import agrees


def small(subject: Subject, *body: str, **more: Any) -> Any:
    rules = {"body_max": 3, "variables": False, "data": False, "stops": False, "draws": False, "workers_max": 1}
    return programs(subject, body=body, **{"after": ("local",)} | rules | more)


@property_test("C-1", program=lambda s: small(s, "look", "merge"))
def test_every_function_knows_where_it_is_called(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@clause("C-2")
@pytest.mark.parametrize("name", ["scope", "run", "reduce", "experimental_distribute_dataset", "gather"])
def test_cross_replica_calls_are_refused_in_replicas(subject: Subject, name: str) -> None:
    strategy = subject.strategy(2)
    calls = {
        "scope": lambda: strategy.scope().__enter__(),
        "run": lambda: strategy.run(lambda: None),
        "reduce": lambda: strategy.reduce("SUM", 1.0, axis=None),
        "experimental_distribute_dataset": lambda: strategy.experimental_distribute_dataset([]),
        "gather": lambda: strategy.gather(np.zeros(1), axis=0),
    }
    with pytest.raises(ss.errors.ContextError):
        strategy.run(calls[name])
    strategy.close()


@clause("C-3")
def test_a_replicas_context_ends_with_its_run(subject: Subject) -> None:
    strategy, kept = subject.strategy(2), []
    strategy.run(lambda: kept.append(me()))
    with pytest.raises(ss.errors.ContextError):
        kept[0].all_reduce("SUM", np.float32(1))
    strategy.close()


@property_test("C-7", program=lambda s: small(s, "seed"), share=0.5)
def test_seeds_are_the_same_on_every_backend(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("V-1", count=st.integers(1, 4), numbers=st.lists(st.integers(0, 9), min_size=4, max_size=4))
def test_arguments_reach_each_replica_as_its_component(subject: Subject, count: int, numbers: list[int]) -> None:
    strategy, backend, shared = subject.strategy(count), subject.open(count), object()
    value = ss.PerReplica([np.array([n], np.float32) for n in numbers[:count]])

    def replica(own: Any, both: dict[str, Any], *, named: Any) -> tuple[Any, ...]:
        xp = me().xp
        return xp.asarray(own), xp.asarray(both["a"]), both["b"] is shared, xp.asarray(named)

    found = host(strategy.run(replica, args=(value, {"a": value, "b": shared}), kwargs={"named": value}), backend)
    strategy.close()
    for place in (0, 1, 3):
        values = found[place].values if count > 1 else (found[place],)
        assert [one.tolist() for one in values] == [[float(n)] for n in numbers[:count]]
    assert found[2] is True


@property_test("V-2", program=lambda s: small(s, "give", "share", "look"))
def test_results_are_regrouped_by_structure_and_identity(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@clause("V-3")
def test_nests_of_different_structure_are_refused(subject: Subject) -> None:
    strategy = subject.strategy(2)
    with pytest.raises(ss.errors.InvalidArgument, match="different structure"):
        strategy.run(lambda: [0] * me().replica_id_in_sync_group)
    strategy.close()


@property_test("V-5", program=lambda s: small(s, "give", "all_reduce", after=("local", "local")))
def test_local_results_are_the_components(subject: Subject, program: Program) -> None:
    agrees(subject, program)
