"""Steps that come again: arguments known by their forms, and variables whose parts stay together."""

import jax
import numpy as np
import pytest

import simstrategy as ss
from simstrategy_xla.cells import Parts, XlaCell, hold, whole_of

RANKS = 4


@pytest.fixture(scope="module")
def strategy():
    return ss.Strategy.mirrored("xla", replicas=RANKS)


def given(strategy, *shape, dtype="float32"):
    """Returns an array of `shape` on each replica's device, of the replica's number plus one."""

    def make():
        ctx = ss.get_replica_context()
        return ctx.xp.full(shape, ctx.replica_id_in_sync_group + 1, dtype=dtype)

    return strategy.run(make)


def host(value):
    return [np.asarray(one).tolist() for one in value.values]


def total(x, rate=1.0):
    return ss.get_replica_context().all_reduce("SUM", x) * rate


def test_a_step_sees_what_changes_after_arguments_like_the_last_ones(strategy):
    """Another shape, dtype, number of arguments, kind of argument, order of devices: none is taken for the usual."""
    compiled = strategy.compile(total)
    pair = given(strategy, 2)
    for _ in range(3):
        assert host(strategy.run(compiled, args=(pair,))) == [[10.0, 10.0]] * RANKS
    assert host(strategy.run(compiled, args=(given(strategy, 1),))) == [[10.0]] * RANKS
    whole = strategy.run(compiled, args=(given(strategy, 2, dtype="int32"),))
    assert host(whole) == [[10, 10]] * RANKS
    assert host(strategy.run(compiled, args=(pair, 2.0))) == [[20.0, 20.0]] * RANKS
    assert host(strategy.run(compiled, args=(pair, 3.0))) == [[30.0, 30.0]] * RANKS
    assert host(strategy.run(compiled, args=(pair,), kwargs={"rate": 2.0})) == [[20.0, 20.0]] * RANKS
    for _ in range(2):
        assert host(strategy.run(compiled, args=(np.ones(2, np.float32),))) == [[4.0, 4.0]] * RANKS
    uneven = ss.PerReplica([*pair.values[:-1], given(strategy, 2, dtype="int32").values[0]])
    with pytest.raises(ss.errors.ReplicasDisagree):
        strategy.run(compiled, args=(uneven,))
    assert host(strategy.run(compiled, args=(pair,))) == [[10.0, 10.0]] * RANKS


def test_arrays_given_to_other_replicas_are_brought_there(strategy):
    compiled = strategy.compile(lambda x: x * 1)
    pair = given(strategy, 2)
    strategy.run(compiled, args=(pair,))
    turned = strategy.run(compiled, args=(ss.PerReplica(pair.values[::-1]),))
    assert host(turned) == [[4.0, 4.0], [3.0, 3.0], [2.0, 2.0], [1.0, 1.0]]
    assert [one.device for one in turned.values] == [one.device for one in pair.values]


def test_components_that_are_too_many_are_left_out_each_time():
    strategy = ss.Strategy.mirrored(ss.backend("xla", devices=[str(jax.devices()[0])] * 2))
    three = ss.PerReplica([jax.device_put(np.float32([number]), jax.devices()[0]) for number in range(3)])
    compiled = strategy.compile(lambda x: x + 1)
    for _ in range(3):
        assert host(strategy.run(compiled, args=(three,))) == [[1.0], [2.0]]


def test_host_data_is_never_taken_for_arrays(strategy):
    compiled = strategy.compile(total)
    rows = ss.PerReplica([np.float32([rank + 1]) for rank in range(RANKS)])
    for own in (rows, rows, given(strategy, 1), rows, given(strategy, 1)):
        assert host(strategy.run(compiled, args=(own,))) == [[10.0]] * RANKS
    numbers = ss.PerReplica([1.0, 2.0, 3.0, 4.0])
    assert host(strategy.run(compiled, args=(numbers,))) == [10.0] * RANKS


def test_the_program_of_usual_arguments_is_in_the_trace_each_time():
    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("xla", replicas=RANKS, trace=trace)
    compiled = strategy.compile(total)
    rows = given(strategy, 2)
    for _ in range(3):
        strategy.run(compiled, args=(rows,))
    events = [(event.kind, event.shapes) for event in trace.events() if event.kind == "compiled"]
    assert events == [("compiled", ((2,),))] * 3


def cells_and_parts():
    arrays = tuple(jax.device_put(np.float32([number]), device) for number, device in enumerate(jax.devices()[:2]))
    cells = tuple(XlaCell(jax.device_put(np.float32([9]), one.device)) for one in arrays)
    return cells, Parts(np.float32([0, 1]), lambda: arrays)


def values(cells):
    return [float(cell.read()[0]) for cell in cells]


def test_cells_hold_a_whole_until_one_of_them_is_written_alone():
    cells, parts = cells_and_parts()
    assert whole_of(cells) is None
    hold(cells, parts)
    assert (whole_of(cells), values(cells)) == (parts.whole, [0.0, 1.0])
    other = Parts(np.float32([1, 0]), lambda: parts.arrays[::-1])
    hold(cells, other)
    assert (whole_of(cells), values(cells)) == (other.whole, [1.0, 0.0])
    cells[1].write(jax.device_put(np.float32([7]), jax.devices()[1]))
    assert (whole_of(cells), values(cells)) == (None, [1.0, 7.0])
    hold(cells, parts)
    assert (whole_of(cells), values(cells)) == (parts.whole, [0.0, 1.0])


def test_cells_that_are_held_with_others_leave_those_they_were_with():
    cells, parts = cells_and_parts()
    for number, wanted in ((0, [5.0, 1.0]), (1, [0.0, 5.0])):
        hold(cells, parts)
        alone = (cells[number],)
        hold(alone, Parts(np.float32([5]), lambda one=number: (jax.device_put(np.float32([5]), jax.devices()[one]),)))
        assert (whole_of(cells), whole_of(cells[::-1])) == (None, None)
        assert values(cells) == wanted
        assert whole_of(alone) is not None
