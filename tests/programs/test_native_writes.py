"""Components that a program writes through `.native` are compared when the run is over, on every backend."""

import warnings
from collections.abc import Callable
from contextlib import closing
from typing import Any, Final

import numpy as np
import pytest
from program_catalogue import replica
from program_machines import Machines

import simstrategy as ss
from simstrategy.errors import MirroredDiverged, ReplicasDisagree


def write_sim(native: Any, value: float) -> None:
    native.write(native.read() * 0 + np.float32(value))


def write_tensorflow(native: Any, value: float) -> None:
    native.assign(native * 0 + value)


def write_torch(native: Any, value: float) -> None:
    native.detach().fill_(value)


WRITES: Final[dict[str, Callable[[Any, float], None]]] = {
    "sim": write_sim,
    "tensorflow": write_tensorflow,
    "torch": write_torch,
}
every_backend = pytest.mark.parametrize("backend", WRITES)


def made(strategy: ss.Strategy, name: str = "w") -> ss.Variable:
    with strategy.scope():
        return ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.MEAN, name=name)


# Clauses: U-14
@every_backend
def test_a_write_through_native_that_differs_is_named_when_the_run_is_over(backend: str, machines: Machines) -> None:
    with closing(ss.Strategy.mirrored(machines.open(backend, 3))) as strategy:
        variable, other = made(strategy), made(strategy, "v")
        ended = []

        def step(scale: float) -> None:
            write = WRITES[backend]
            write(variable.native, scale * (replica().replica_id_in_sync_group // 2))  # the last one differs
            write(other.native, scale)
            ended.append(1)

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            strategy.run(step, args=(0.0,))
        with pytest.warns(MirroredDiverged) as caught:
            strategy.run(step, args=(1.0,))
        line = step.__code__.co_firstlineno + 2
        wanted = (
            f"a write through `.native` of variable 'w' at test_native_writes.py:{line} left its components unequal: "
            f"replica 2 holds another value than replica 0"
        )
        assert [str(one.message).partition(", which")[0] for one in caught] == [wanted]
        assert len(ended) == 6
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            strategy.run(step, args=(2.0,))  # named once
        assert [np.asarray(strategy_value)[0] for strategy_value in variable.components] == [0, 0, 2]


@every_backend
def test_writes_through_native_between_runs_are_named_before_a_read(backend: str, machines: Machines) -> None:
    with closing(ss.Strategy.mirrored(machines.open(backend, 2))) as strategy:
        for read in (lambda one: one.numpy(), lambda one: strategy.save([one])):
            variable = made(strategy, name="read")
            WRITES[backend](variable.native, 5.0)
            with pytest.warns(MirroredDiverged, match="replica 1 holds another value"):
                read(variable)
        variable = made(strategy, name="added")
        WRITES[backend](variable.native, 5.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MirroredDiverged)
            variable.assign_add([1.0, 1.0])
        assert [np.asarray(one).tolist() for one in variable.components] == [[6, 6], [1, 1]]


@every_backend
def test_strict_checks_refuse_it_and_no_checks_ignore_it(backend: str, machines: Machines) -> None:
    def step(variable: ss.Variable) -> None:
        WRITES[backend](variable.native, float(replica().replica_id_in_sync_group))

    with closing(ss.Strategy.mirrored(machines.open(backend, 2), checks="strict")) as strategy:
        variable = made(strategy)
        with pytest.raises(ReplicasDisagree, match=r"a write through `.native` of variable 'w' .* replica 1 holds"):
            strategy.run(step, args=(variable,))
    with closing(ss.Strategy.mirrored(machines.open(backend, 2), checks=False)) as strategy:
        variable = made(strategy)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            strategy.run(step, args=(variable,))
            variable.numpy()


# Clauses: U-14
@pytest.mark.parametrize("writers", [(0, 1), (1,)])
def test_workers_that_write_different_values_through_native_are_named(writers: tuple[int, ...]) -> None:
    def main(strategy: ss.Strategy) -> list[str]:
        variable = made(strategy)

        def step() -> None:
            rank = replica().replica_id_in_sync_group
            if rank in writers:
                write_sim(variable.native, rank + 1.0)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            strategy.run(lambda: None)
            strategy.run(step)
            strategy.run(step)
        return [str(one.message).partition(", which")[0].partition("left")[2] for one in caught]

    text = " its components unequal: replica 1 holds another value than replica 0"
    found = ss.sim.Cluster(2, 1).run(main)
    assert sorted(found, key=len) == [[], [text] * 2] or found == ([text], [text])
