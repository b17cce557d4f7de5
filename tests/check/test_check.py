"""The main job: honest runs agree, and whatever a backend does wrong is found."""

import sys
from typing import final

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import run_program
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import Difference, InvalidArgument
from simstrategy.schedules import InOrder, Seeded
from simstrategy.sim import open_sim
from simstrategy.strategy import group_of


@final
class Wrong(Wrapper):
    """A simulator whose sums are made wrong by `Wrong.how`, which a test sets."""

    __slots__ = ()
    how = staticmethod(lambda results: results)

    def all_reduce(self, arrays, op):
        return type(self).how(self._inner.all_reduce(arrays, op))


@pytest.fixture
def wrong(monkeypatch):
    """Gives a function that sets how the backend of that name is wrong."""
    monkeypatch.setitem(sys.modules, "wrong_backend_of_a_test", sys.modules[__name__])

    def set_how(how):
        monkeypatch.setattr(Wrong, "how", staticmethod(how))
        return "wrong_backend_of_a_test:open_wrong"

    return set_how


def open_wrong(*, replicas=None):
    return Wrong(open_sim(replicas=replicas))


def ctx():
    return ss.get_replica_context()


def program(strategy):
    with strategy.scope():
        variable = ss.Variable(np.float32([1, 2, 3]), aggregation=ss.VariableAggregation.SUM, name="w")

    def replica(x):
        xp = ctx().xp
        total = ctx().all_reduce("SUM", xp.sum(xp.exp(x)))
        variable.assign_sub(0.01 * xp.sum(x) * variable.value() + 0 * ctx().replica_id_in_sync_group)
        return total

    dataset = ss.data.Dataset.from_tensor_slices(np.linspace(-1, 1, 7).astype(np.float32)).batch(4)
    return [strategy.run(replica, args=(step,)) for step in strategy.experimental_distribute_dataset(dataset)]


def test_a_program_agrees_with_itself_to_the_bit_under_every_schedule():
    seen = []
    report = ss.check(
        program,
        backends=["sim", "sim"],
        replicas=[1, 2, 3],
        schedules=[InOrder, lambda: Seeded(1), lambda: Seeded(2)],
        without=["replicas"],
        on_row=seen.append,
    )
    assert report.agrees
    report.raise_for_difference()
    assert list(report.rows) == seen
    assert report.program == "test_check.py"
    assert [row.reference for row in report.rows].count(True) == 3
    others = [row for row in report.rows if not row.reference]
    assert len(others) == 2 * 2  # one replica has no order
    assert all(row.equal_bits and row.distance == 0 and row.problem is None for row in others)
    assert {row.schedule for row in others} == {"Seeded(1)", "Seeded(2)"} | {
        r.schedule for r in others if r.trace_compared
    }


def test_a_right_backend_under_another_name_agrees_with_its_trace(wrong):
    report = ss.check(program, backends=["sim", wrong(lambda results: results)], replicas=[2])
    row = report.rows[1]
    assert report.agrees
    assert row.equal_bits
    assert row.trace_compared
    assert row.events == report.rows[0].events > 0


def changed(result, change):
    return np.asarray(change(np.array(result))).view(type(result))


def spoiled(results, change):
    """Changes the last replica's result alone."""
    return (*results[:-1], changed(results[-1], change))


FAULTS = {
    "one part in a thousand": (lambda r: spoiled(r, lambda a: a * np.float32(1.001)), "result[0] of local replica 1"),
    "doubled": (
        lambda r: tuple(changed(one, lambda a: a * np.float32(2)) for one in r),
        "result[0] of local replica 0",
    ),
    "nan": (lambda r: spoiled(r, lambda a: a * np.float32(np.nan)), "nan against"),
    "swapped sign": (lambda r: spoiled(r, np.negative), "result[0] of local replica 1"),
}


@pytest.mark.parametrize(("how", "text"), FAULTS.values(), ids=FAULTS)
def test_a_wrong_value_on_one_replica_is_found_and_named(wrong, how, text):
    name = wrong(how)
    report = ss.check(program, backends=["sim", name], replicas=[1, 2])
    assert not report.agrees
    problems = list(report.problems())
    assert any(text in problem for problem in problems)
    with pytest.raises(Difference) as raised:
        report.raise_for_difference()
    assert str(raised.value) == str(report)
    assert "DIFFERS" in str(report)
    assert str(report).splitlines()[-len(problems) - 2] == "First differences:"
    assert all(problem.startswith(f"{name}, ") for problem in problems)


def test_a_rounding_of_one_unit_is_explained(wrong):
    def one_ulp(results):
        return tuple(changed(one, lambda a: np.nextafter(a, np.float32(np.inf))) for one in results)

    report = ss.check(program, backends=["sim", wrong(one_ulp)], replicas=[2])
    assert report.agrees
    assert not report.rows[1].equal_bits
    assert 0 < report.rows[1].distance <= 5 * report.rows[1].one_ulp
    assert "agree: " in str(report)


def on_wrong(strategy):
    backend = group_of(strategy).backend
    while not isinstance(backend, Wrong) and hasattr(backend, "_inner"):
        backend = backend._inner
    return isinstance(backend, Wrong)


def test_a_wrong_dtype_structure_error_trace_and_variable_are_each_told(wrong):
    name = wrong(lambda results: results)

    def dtype(strategy):
        return np.zeros(2, np.float64 if on_wrong(strategy) else np.float32)

    def structure(strategy):
        return {"b" if on_wrong(strategy) else "a": 1}

    def error(strategy):
        if on_wrong(strategy):
            raise KeyError("only here")
        return 1

    def both_raise(strategy):
        raise KeyError("in both")

    def trace(strategy):
        strategy.run(lambda: ctx().all_reduce("MEAN" if on_wrong(strategy) else "SUM", 0.0))
        return 0

    def variable(strategy):
        with strategy.scope():
            ss.Variable(2.0 if on_wrong(strategy) else 1.0, name="w")

    wanted = {
        dtype: "result: float64[2] against float32[2]",
        structure: "missing [\"result['a']\"], not expected [\"result['b']\"]",
        error: "errors differ: KeyError('only here') against none",
        both_raise: None,
        trace: 'traces differ at event 1: {"axis":null,"dtypes":["float32"],"kind":"all_reduce","op":"SUM"',
        variable: "variable 0 'w', replica 0: 2.0 against 1.0",
    }
    for one, text in wanted.items():
        problem = ss.check(one, backends=["sim", name], replicas=[2]).rows[1].problem
        assert (problem is None) == (text is None), one.__name__
        assert text is None or text in problem, one.__name__


def test_the_report_is_a_table_with_a_verdict(wrong):
    lines = str(ss.check(program, backends=["sim", wrong(lambda results: results)], replicas=[2])).splitlines()
    assert lines[0] == "check of test_check.py"
    assert lines[1].split() == ["law", "backend", "replicas", "schedule", "values", "trace"]
    assert lines[2].split()[:3] == ["repeat", "sim", "2"]
    assert "reference; rounding moves it by" in lines[2]
    assert "equal to the bit" in lines[3]
    assert lines[3].endswith("events, equal")
    assert lines[-1].startswith("All runs agree: ")


def test_a_program_that_forgets_the_partial_batch_is_found_by_comparing_replica_counts():
    def means(strategy, *, right):
        dataset = ss.data.Dataset.from_tensor_slices(np.arange(5, dtype=np.float32)).batch(3)
        results = []
        for step in strategy.experimental_distribute_dataset(dataset):
            if right:
                results.append(float(strategy.reduce("MEAN", step, axis=0)))
            else:
                xp = strategy.xp
                results.append(float(strategy.reduce("MEAN", strategy.run(xp.mean, args=(step,)))))
        return results

    one, two = (ss.Strategy.mirrored("sim", replicas=count) for count in (1, 2))
    assert means(one, right=True) == means(two, right=True) == [1.0, 3.5]
    assert means(two, right=False) != means(one, right=False)


@pytest.mark.parametrize("wrong_program", [None, 5, "text"])
def test_what_is_no_program_is_refused(wrong_program):
    with pytest.raises(InvalidArgument, match=r"check takes a function program\(strategy\)"):
        ss.check(wrong_program)


def test_an_outcome_holds_values_variables_errors_and_events_in_order():
    def nested(strategy):
        with strategy.scope():
            variable = ss.Variable(np.float32([1]), name="w")
        return {
            "b": [strategy.run(lambda: ctx().xp.ones(1) * ctx().replica_id_in_sync_group)],
            "a": (None, variable, 3),
        }

    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("sim", replicas=2, trace=trace)
    outcome = run_program(nested, strategy, trace)
    assert [path for path, _ in outcome.leaves] == [
        "result['a'][0]",
        "result['a'][2]",
        "result['b'][0] of local replica 0",
        "result['b'][0] of local replica 1",
        "variable 0 'w', replica 0",
        "variable 0 'w', replica 1",
    ]
    assert str(outcome.leaves[0][1]) == "None"
    assert outcome.error is None
    assert [event.kind for event in outcome.events] == ["variable", "run"]
