"""A bool variable has no sum and no mean: every backend refuses the writes alike."""

from contextlib import closing
from typing import Final

import pytest
from program_catalogue import replica
from program_machines import Machines

import simstrategy as ss
from simstrategy.errors import InvalidArgument

BACKENDS: Final = ("sim", "tensorflow", "torch", "xla")
Aggregation = ss.VariableAggregation


# Clauses: R-4, U-7
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("aggregation", [Aggregation.SUM, Aggregation.MEAN])
def test_a_write_of_replicas_to_a_bool_variable_is_refused(
    backend: str, aggregation: ss.VariableAggregation, machines: Machines
) -> None:
    with closing(ss.Strategy.mirrored(machines.open(backend, 2))) as strategy:
        with strategy.scope():
            variable = ss.Variable(True, aggregation=aggregation, name="flag")
        what = "sum" if aggregation is Aggregation.SUM else "mean"
        for kind in ("assign", "assign_add", "assign_sub"):
            for make in (bool, lambda number: replica().xp.asarray(number > 0)):

                def step(kind: str = kind, make: object = make) -> None:
                    getattr(variable, kind)(make(replica().replica_id_in_sync_group))  # type: ignore[operator]

                with pytest.raises(
                    InvalidArgument, match=rf"{kind} of variable 'flag' .* got bool, .* no {what}\. Make"
                ):
                    strategy.run(step)
        assert [bool(one) for one in variable.components] == [True, True]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_bool_total_is_not_shared_out(backend: str, machines: Machines) -> None:
    with closing(ss.Strategy.mirrored(machines.open(backend, 2))) as strategy, strategy.scope():
        on_read = ss.VariableSynchronization.ON_READ
        variable = ss.Variable(True, aggregation=Aggregation.SUM, synchronization=on_read, name="flag")
        with pytest.raises(InvalidArgument, match="shares a total out over the replicas, and bool has no sum"):
            variable.assign(False)
