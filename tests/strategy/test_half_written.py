"""A write of several components that fails between two of them is undone: a retry begins with equal ones.

Clauses: J-31
"""

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.device.wrapper import Wrapper
from simstrategy.strategy import group_of


class FailingCell:
    """A cell that fails once, when it is told to."""

    def __init__(self, inner):
        self._inner = inner
        self.fails = False

    @property
    def native(self):
        return self._inner.native

    def read(self):
        return self._inner.read()

    def write(self, value):
        if self.fails:
            self.fails = False
            raise MemoryError("no memory left on this device")
        self._inner.write(value)


class Failing(Wrapper):
    """A backend of such cells; shared: whether all devices have one memory."""

    def __init__(self, inner, *, shared):
        Wrapper.__init__(self, inner)
        if not shared:
            self.memory = None

    def cell(self, initial):
        return FailingCell(self._inner.cell(initial))


def in_replicas(strategy, variable):
    strategy.run(lambda: variable.assign_add(ss.get_replica_context().xp.ones(2)))


def outside(strategy, variable):
    with strategy.scope():
        variable.assign_sub([1.0, 1.0])


def replaced(strategy, variable):
    with strategy.scope():
        variable.assign([7.0, 7.0])


def one_by_one(strategy, variable):
    with strategy.scope():
        strategy.extended.update(variable, lambda component: component.assign_add([1.0, 1.0]))


def apart(strategy, variable):
    values = strategy.run(lambda: ss.get_replica_context().xp.ones(2) * ss.get_replica_context().seed("x") % 7)
    with strategy.scope():
        variable.assign_add(values)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("write", [in_replicas, outside, replaced, one_by_one, apart])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.filterwarnings("ignore::simstrategy.errors.MirroredDiverged")
def test_a_write_that_fails_leaves_every_component_as_it_was(shared, failing, write, equal):
    strategy = ss.Strategy.mirrored(Failing(ss.backend("sim", replicas=3), shared=shared))
    with strategy.scope():
        variable = ss.Variable([1.0, 2.0], aggregation=ss.VariableAggregation.SUM, name="v")
        if not equal:
            strategy.extended.update(
                variable,
                lambda component: component.assign_add(np.float32([group_of(strategy).xp.ones(1)[0], component.index])),
            )
    cells = variable.state.storage.cells
    before = [np.array(cell.read()) for cell in cells]
    cells[failing].fails = True
    with pytest.raises(MemoryError, match="no memory left"):
        write(strategy, variable)
    for cell, value in zip(cells, before, strict=True):
        np.testing.assert_array_equal(cell.read(), value)
    write(strategy, variable)
    assert not any(np.array_equal(cell.read(), value) for cell, value in zip(cells, before, strict=True))


def test_an_update_that_fails_restores_the_other_variables_that_it_wrote():
    strategy = ss.Strategy.mirrored("sim", replicas=3)
    with strategy.scope():
        kernel = ss.Variable([1.0, 2.0], name="kernel")
        moment, seen = ss.Variable([3.0], name="m"), ss.Variable(0.0, name="seen")

        def step(component, own):
            own.assign_add([1.0])
            seen.assign_add(1.0)
            component.assign_sub([1.0, 1.0])
            if component.index == 1:
                raise KeyError("no such slot")

        with pytest.raises(KeyError, match="no such slot"):
            strategy.extended.update(kernel, step, args=(moment,))
    for variable, value in ((kernel, [1.0, 2.0]), (moment, [3.0]), (seen, 0.0)):
        for cell in variable.state.storage.cells:
            np.testing.assert_array_equal(cell.read(), np.float32(value))
    assert group_of(strategy).variables.journal is None


def test_a_write_whose_undoing_fails_too_raises_the_first_exception():
    strategy = ss.Strategy.mirrored(Failing(ss.backend("sim", replicas=2), shared=False))
    with strategy.scope():
        variable = ss.Variable([1.0, 2.0], aggregation=ss.VariableAggregation.SUM, name="v")
    _, second = variable.state.storage.cells

    def broken(value):
        raise MemoryError(f"write {value[0]}")

    second.write = broken
    with pytest.raises(MemoryError, match=r"write 3\.0"):
        in_replicas(strategy, variable)
    assert not variable.state.storage.are_equal


def test_an_exception_out_of_the_answer_names_the_call_and_the_replicas():
    strategy = ss.Strategy.mirrored(Failing(ss.backend("sim", replicas=2), shared=True))
    with strategy.scope():
        variable = ss.Variable([1.0, 2.0], aggregation=ss.VariableAggregation.SUM, name="v")
    variable.state.storage.cells[1].fails = True
    with pytest.raises(MemoryError) as raised:
        in_replicas(strategy, variable)
    (note,) = raised.value.__notes__
    first, *lines = note.splitlines()
    assert first == "In the answer to"
    assert [line.partition(" v ")[0] for line in lines] == ["  replica 0: assign_add", "  replica 1: assign_add"]
    assert all("test_half_written.py:" in line for line in lines)
