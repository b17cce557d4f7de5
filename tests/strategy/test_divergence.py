"""Writes that leave the components of a mirrored variable unequal are named, once, and nothing else is."""

import contextlib
import warnings

import numpy as np
import pytest
from vocabulary import FIRST, ON_READ, SUM, TF2, components, ctx, line_here, rank, variable_in

import simstrategy as ss
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import InvalidType, MirroredDiverged, ReplicasDisagree
from simstrategy.strategy import group_of


def made(strategy, value=1.0, **settings):
    with strategy.scope():
        return ss.Variable(value, **{"name": "w", **settings})


def different(*values):
    return ss.PerReplica([np.float32(value) for value in values])


def text(kind, here, who):
    return (
        f"{kind} of variable 'w' at test_divergence.py:{here} left its components unequal: {who} another value than "
        f"replica 0, which is all that is read outside replica functions. Write one value everywhere, or make the "
        f"variable with one of VariableAggregation.SUM, VariableAggregation.MEAN, "
        f"VariableAggregation.ONLY_FIRST_REPLICA, or ON_READ."
    )


# Clauses: U-14
@pytest.mark.parametrize(("kind", "wanted"), [("assign", [1, 2]), ("assign_add", [2, 3]), ("assign_sub", [0, -1])])
def test_one_value_per_replica_is_named_where_it_is_written(mirrored, kind, wanted):
    variable = made(mirrored(2))
    here = line_here() + 2
    with pytest.warns(MirroredDiverged) as caught:
        getattr(variable, kind)(different(1, 2))
    assert [str(one.message) for one in caught] == [text(kind, here, "replica 1 holds")]
    assert components(variable) == wanted


def test_it_is_named_once_for_each_call_site_and_variable(mirrored):
    strategy = mirrored(2)
    one, other = made(strategy), made(strategy)

    def write_both(number):
        for variable in (one, other):
            variable.assign(different(number, 5))

    with pytest.warns(MirroredDiverged) as caught:
        write_both(1)
    assert len(caught) == 2
    write_both(2)
    with pytest.warns(MirroredDiverged) as caught:
        one.assign(different(8, 9))
    assert len(caught) == 1


def test_only_replicas_that_differ_from_the_first_are_named_and_at_most_eight(mirrored):
    with pytest.warns(MirroredDiverged, match="unequal: replicas 1, 3 hold another value"):
        made(mirrored(4)).assign(different(1, 2, 1, 3))
    with pytest.warns(MirroredDiverged, match="unequal: replicas 1, 2, 3, 4, 5, 6, 7, 8, … hold another value"):
        made(mirrored(10)).assign(different(*range(10)))


@pytest.mark.parametrize("value", [1.0, float("nan"), float("inf"), -0.0])
def test_equal_values_are_no_divergence(mirrored, value):
    strategy = mirrored(3)
    variable = made(strategy, 0.0)
    variable.assign(different(value, value, value))
    variable.assign(different(-0.0, 0.0, 0.0))
    assert variable.state.storage.are_equal
    variable.assign_add(1.0)
    assert components(variable) == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["complex64", "int64", "bool", "float16"])
def test_values_of_every_kind_are_compared(mirrored, dtype):
    variable = made(mirrored(2), np.zeros(2, dtype))
    variable.assign(ss.PerReplica([np.ones(2, dtype)] * 2))
    with pytest.warns(MirroredDiverged):
        variable.assign(ss.PerReplica([np.ones(2, dtype), np.asarray([1, 0], dtype)]))


def test_what_is_called_mirrored_and_is_not_is_found(mirrored):
    variable = made(mirrored(2))
    with pytest.warns(MirroredDiverged):
        variable.assign(ss.Mirrored([np.float32(1), np.float32(2)]))
    variable.assign_add(1.0)
    assert components(variable) == [2, 3]


# What replicas write for themselves.


@pytest.mark.parametrize("kind", ["assign", "assign_add", "assign_sub"])
def test_local_writes_are_named_when_the_run_is_over(mirrored, executor, kind):
    strategy = mirrored(3, semantics=TF2, executor=executor)
    variable = made(strategy)
    ended = []

    def replica():
        getattr(variable, kind)(np.float32(rank() // 2))
        ended.append(rank())

    with pytest.warns(MirroredDiverged) as caught:
        strategy.run(replica)
    assert ended == [0, 1, 2]
    assert [str(one.message) for one in caught] == [
        text(kind, replica.__code__.co_firstlineno + 1, "replica 2 holds"),
    ]
    strategy.run(replica)  # the same line again: told once


def test_local_writes_of_equal_values_are_no_divergence(mirrored):
    strategy = mirrored(2, semantics=TF2)
    variable = made(strategy)
    strategy.run(lambda: variable.assign(np.float32(7)))
    strategy.run(lambda: (variable.assign(np.float32(rank())), variable.assign(np.float32(3))))
    assert components(variable) == [3, 3]


def test_one_replica_that_does_not_write_is_a_divergence(mirrored):
    strategy = mirrored(2, semantics=TF2)
    variable = made(strategy)
    with pytest.warns(MirroredDiverged, match="replica 1 holds"):
        strategy.run(lambda: variable.assign(9.0) if rank() == 0 else None)


def test_a_divergence_is_named_before_a_read_in_a_merge_function_and_not_again(mirrored):
    strategy = mirrored(2, semantics=TF2)
    variable = made(strategy)

    def merge(_):
        with pytest.warns(MirroredDiverged):
            return float(variable.value())

    def replica():
        variable.assign(np.float32(rank() + 5))
        return ss.get_replica_context().merge_call(merge)

    assert strategy.run(replica) == 5


@pytest.mark.parametrize("reader", ["nobody", "another strategy"])
def test_a_divergence_that_an_exception_cut_short_is_named_at_the_next_read(mirrored, reader):
    strategy = mirrored(2, semantics=TF2)
    variable = made(strategy)

    def replica():
        variable.assign(np.float32(rank()))
        if rank():
            raise KeyError("mine")

    with pytest.raises(KeyError):
        strategy.run(replica)
    scope = mirrored(2).scope() if reader == "another strategy" else contextlib.nullcontext()
    with scope, pytest.warns(MirroredDiverged, match="replica 1 holds"):
        variable.value()


def test_an_on_read_variable_and_a_plain_one_never_diverge(mirrored):
    strategy = mirrored(2, semantics=TF2)
    local, plain = made(strategy, synchronization=ON_READ), ss.Variable(1.0)
    strategy.run(lambda: (local.assign(np.float32(rank())), plain.assign(np.float32(rank()))))
    assert (components(local), components(plain)) == ([0, 1], [1])


def test_aggregated_writes_are_never_compared(mirrored):
    strategy = mirrored(2, semantics=TF2)
    variable = made(strategy, aggregation=SUM)
    strategy.run(lambda: variable.assign_add(np.float32(rank())))
    variable.assign_add(1.0)
    assert not group_of(strategy).variables.pending


class Tracing(Wrapper):
    """A backend whose arrays have no values while it traces."""

    traces = False

    def get(self, array):
        if self.traces:
            raise InvalidType("no value while a function is traced")
        return self._inner.get(array)


def test_what_was_written_while_a_framework_traced_is_compared_when_it_is_read(sim):
    backend = Tracing(sim(2))
    strategy = ss.Strategy.mirrored(backend, semantics=TF2)
    variable = made(strategy)

    def replica():
        variable.assign(np.float32(value + rank()))

    value = 0
    backend.traces = True
    strategy.run(replica)
    backend.traces = False
    with pytest.warns(MirroredDiverged, match="replica 1 holds"):
        variable.value()
    variable.value()


# Settings.


# Clauses: U-14
def test_strict_checks_refuse_unequal_values_before_they_are_written(mirrored):
    strategy = mirrored(2, semantics=TF2, checks="strict")
    variable = made(strategy)
    here = line_here() + 3
    for _ in range(2):
        with pytest.raises(ReplicasDisagree) as raised:
            variable.assign(different(1, 2))
        assert str(raised.value) == text("assign", here, "replica 1 holds")
    assert components(variable) == [1, 1]
    with pytest.raises(ReplicasDisagree, match="left its components unequal"):
        strategy.run(lambda: variable.assign(np.float32(rank())))
    assert components(variable) == [0, 1]


def test_without_checks_nothing_is_compared(mirrored):
    strategy = mirrored(2, semantics=TF2, checks=False)
    variable = made(strategy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        variable.assign(different(1, 2))
        variable.assign_add(1.0)
        assert components(variable) == [2, 3]
        strategy.run(lambda: variable.assign(np.float32(rank())))
    assert components(variable) == [0, 1]


def test_a_warning_that_is_an_error_leaves_the_variable_as_it_was(mirrored):
    variable = made(mirrored(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MirroredDiverged):
            variable.assign(different(1, 2))
    assert components(variable) == [1, 1]


# Workers.


def told(workers, replicas, main, **settings):
    """Returns what each worker's program returned, and the texts of all warnings of divergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = ss.sim.Cluster(workers, replicas, **settings).run(main)
    return results, [str(one.message) for one in caught if one.category is MirroredDiverged]


def test_workers_that_write_different_values_are_named_on_each():
    def main(strategy):
        variable = made(strategy)
        for _ in range(2):
            variable.assign_add(float(group_of(strategy).coordinator.worker))
        return components(variable)

    results, texts = told(2, 2, main)
    assert results == ([1, 1], [3, 3])
    assert texts == [text("assign_add", main.__code__.co_firstlineno + 3, "replicas 2, 3 hold")] * 2


def test_workers_that_write_equal_values_are_not():
    def main(strategy):
        variable, local = made(strategy), made(strategy, synchronization=ON_READ)
        variable.assign(5.0)
        local.assign(float(group_of(strategy).coordinator.worker))
        first = made(strategy, aggregation=FIRST)
        strategy.run(lambda: first.assign(np.float32(rank() + 5)))
        return components(variable) + components(first)

    assert told(2, 2, main) == (([5, 5, 5, 5],) * 2, [])


@pytest.mark.parametrize("writers", [(0, 1, 2, 3), (2,), (0, 1)])
def test_local_writes_on_some_workers_are_found_by_all(writers):
    def main(strategy):
        other, variable = made(strategy, name="other"), made(strategy)
        strategy.run(lambda: None)
        strategy.run(lambda: variable.assign(np.float32(rank() + 10)) if rank() in writers else None)
        strategy.run(lambda: other.assign(np.float32(3)))
        return components(other)

    results, texts = told(2, 2, main, semantics=TF2)
    assert results == ([3, 3],) * 2
    apart = {(0, 1, 2, 3): "replicas 1, 2, 3 hold", (2,): "replica 2 holds", (0, 1): "replicas 1, 2, 3 hold"}[writers]
    here = main.__code__.co_firstlineno + 3
    wrote = text("assign", here, apart)
    heard = wrote.replace("assign of", "a write of another worker of").replace(f" at test_divergence.py:{here}", "")
    assert texts == {(0, 1, 2, 3): [wrote, wrote], (2,): [heard, wrote], (0, 1): [wrote, heard]}[writers]


def test_strict_workers_all_raise_the_same():
    def main(strategy):
        variable = made(strategy)
        strategy.run(lambda: variable.assign(np.float32(rank())))

    outcomes = ss.sim.Cluster(2, 1, semantics=TF2, checks="strict").outcomes(main)
    assert [type(one.error) for one in outcomes] == [ReplicasDisagree] * 2
    assert len({str(one.error) for one in outcomes}) == 1


def test_warnings_are_shown_at_the_users_line(mirrored):
    strategy = mirrored(2, semantics=TF2)
    variable = variable_in(strategy, 0.0)

    def step():
        variable.assign(float(rank()))
        if rank():
            return ctx().all_reduce("SUM", 1.0)
        return ctx().all_reduce("SUM", 1.0)

    with pytest.warns() as caught:
        strategy.run(step)
    first = step.__code__.co_firstlineno
    assert {(one.category.__name__, one.filename) for one in caught} == {
        ("CallSitesDiffer", __file__),
        ("MirroredDiverged", __file__),
    }
    lines = {one.category.__name__: one.lineno for one in caught}
    assert lines == {"CallSitesDiffer": first + 3, "MirroredDiverged": first + 1}
