"""Variables of every kind: what writes and reads do in replica functions and outside."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simstrategy as ss
from simstrategy_conformance.checking import clause, property_test
from simstrategy_conformance.generate import programs
from simstrategy_conformance.observe import host
from simstrategy_conformance.program import Program
from simstrategy_conformance.subject import Subject
from simstrategy_conformance.verdict import agrees

ON_WRITE = tuple(("ON_WRITE", one) for one in ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE"))
ON_READ = tuple(("ON_READ", one) for one in ("SUM", "MEAN", "ONLY_FIRST_REPLICA", "NONE"))


def small(subject: Subject, kinds: Any, body: tuple[str, ...], after: tuple[str, ...]) -> Any:
    rules = {"body_max": 3, "after_max": 3, "data": False, "stops": False, "draws": False, "workers_max": 1}
    return programs(subject, body=body, after=after, kinds=kinds, variables_min=1, **rules)


@property_test("U-1", program=lambda s: small(s, ON_WRITE + ON_READ, ("read",), ()), share=0.5)
def test_every_component_begins_with_the_initial_value(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("U-2", program=lambda s: small(s, ON_WRITE, ("write", "read"), ("fetch",)))
def test_replicas_writes_are_aggregated(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@clause("U-3")
def test_one_object_that_all_replicas_share_is_not_summed_into_a_variable(subject: Subject) -> None:
    strategy, backend = subject.strategy(2), subject.open(2)
    shared = backend.put(np.array(3.0, np.float32), backend.devices[0])
    with strategy.scope():
        added = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.SUM)
        mean = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.MEAN)
    with pytest.raises(ss.errors.InvalidArgument, match="non-DistributedValues"):
        strategy.run(lambda: (added.assign_add(shared), None)[1])
    strategy.run(lambda: (mean.assign_add(shared), None)[1])
    held = [host(one, backend).item() for one in strategy.experimental_local_results(mean)]
    strategy.close()
    assert held == [4.0, 4.0]


@property_test("U-4", program=lambda s: small(s, ON_READ, ("write", "read"), ("fetch",)))
def test_replicas_write_and_read_their_own_components(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("U-5", program=lambda s: small(s, ON_WRITE + ON_READ, ("read", "write"), ("assign", "assign", "fetch")))
def test_a_write_outside_replicas_changes_every_component(subject: Subject, program: Program) -> None:
    agrees(subject, program)


@property_test("U-6", shape=st.sampled_from([(2,), (1, 1), (0,)]), count=st.integers(1, 3))
def test_a_variable_never_changes_its_form(subject: Subject, shape: tuple[int, ...], count: int) -> None:
    strategy = subject.strategy(count)
    with strategy.scope():
        variable = ss.Variable(np.zeros((1,), np.float32), aggregation=ss.VariableAggregation.SUM)
    for value in (np.zeros(shape, np.float32), np.zeros((1,), np.int32)):
        with pytest.raises(ss.errors.InvalidArgument):
            strategy.run(lambda value=value: (variable.assign(value), None)[1])
    assert (variable.shape, variable.dtype) == ((1,), "float32")
    strategy.close()
