"""The law of compiled steps, `check(program, compiled=True)`: they give what tasks give.  Clauses: P-9."""

from dataclasses import dataclass

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import InvalidArgument

INPUTS = np.random.default_rng(0).normal(size=(24, 3)).astype(np.float32)


def trained(strategy, step_of):
    with strategy.scope():
        weights = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM)
    step = step_of(weights)
    for inputs in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(INPUTS).batch(12)):
        strategy.run(step, args=(inputs,))
    return weights.numpy()


def added(weights, inputs):
    weights.assign_add(ctx().xp.sum(inputs, axis=0) / 24)


def plain(strategy):
    return trained(strategy, lambda weights: lambda inputs: added(weights, inputs))


def counting(strategy):
    """Its steps depend on a counter of Python, which is a constant of a program."""
    seen = []

    def step_of(weights):
        def step(inputs):
            seen.append(1)
            weights.assign_add(ctx().xp.sum(inputs, axis=0) * len(seen))

        return step

    return trained(strategy, step_of)


def reading(strategy):
    """One of its two functions reads a value, and has an effect before."""
    effects = []

    def step_of(weights):
        return lambda inputs: added(weights, inputs)

    def reads(x):
        effects.append(x)
        return ctx().all_reduce("SUM", x) if float(x) > 0 else x

    total = strategy.run(reads, args=(ss.PerReplica([np.float32(1)] * strategy.num_replicas_in_sync),))
    return trained(strategy, step_of), len(effects), strategy.reduce("MEAN", total, axis=None)


def rows_of(report):
    return [row for row in report.rows if row.law == "compiled"]


def test_a_program_gives_the_same_compiled():
    report = ss.check(plain, replicas=[1, 2, 3], compiled=True)
    assert report.agrees, str(report)
    assert [(row.replicas, row.schedule, row.equal_bits, row.compared > 0) for row in rows_of(report)] == [
        (str(count), "compiled", True, True) for count in (1, 2, 3)
    ]
    assert not rows_of(ss.check(plain, replicas=[1, 2]))


def test_a_constant_that_should_have_been_an_argument_is_found():
    report = ss.check(counting, replicas=[2], without=["replicas"], compiled=True)
    (finding,) = [one for one in report.findings if one.law == "compiled"]
    assert "is a constant of the program" in finding.text
    assert report.verdict == "differ"


def test_a_function_that_does_not_compile_runs_as_tasks_and_is_named():
    report = ss.check(reading, replicas=[2], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert (row.schedule, row.equal_bits, row.problem) == ("compiled in part", True, None)
    assert "reads (test_law_of_compiled_steps.py:" in str(report)
    assert "known only when the program runs: float()" in str(report)


def test_unequal_parts_run_as_tasks_and_the_report_says_how_often():
    report = ss.check(plain, replicas=[5], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert row.undecided is not None
    assert "2 runs have arguments of other shapes or values on some replicas" in row.undecided
    assert report.verdict == "undecided"


def test_what_compiles_nothing_is_not_judged():
    def program(strategy):
        return strategy.reduce("SUM", strategy.run(lambda: float(ctx().xp.ones(()))), axis=None)

    (row,) = rows_of(ss.check(program, replicas=[2], without=["replicas"], compiled=True))
    assert "float()" in row.undecided


def test_the_setting_is_true_or_false_and_can_be_named_in_same_on():
    with pytest.raises(InvalidArgument, match="compiled is True or False, got 'yes'"):
        ss.check(plain, compiled="yes")
    with pytest.raises(InvalidArgument, match="same_on names 'compiled', which has nothing to compare"):
        ss.check(plain, same_on=["compiled"])
    assert ss.check(plain, replicas=[2], same_on=["compiled"], compiled=True).agrees


def test_an_array_without_a_value_that_leaves_its_step_is_traced_back_to_it():
    def program(strategy):
        kept = []

        def keeps(x):
            kept.append(x + 1)

        strategy.run(keeps, args=(ss.PerReplica([np.float32(1)] * strategy.num_replicas_in_sync),))
        return float(kept[0]) + trained(strategy, lambda weights: lambda inputs: added(weights, inputs))

    report = ss.check(program, replicas=[2], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert (row.schedule, row.equal_bits) == ("compiled in part", True), str(report)
    assert "keeps (test_law_of_compiled_steps.py:" in str(report)


def ones(strategy):
    return ss.PerReplica([np.ones(2, np.float32)] * strategy.num_replicas_in_sync)


def reads_value(x):
    return x * float(x[0])


def catching(strategy):
    """Catches what a step raises that reads a value, and goes on with one that does not."""
    weights = trained(strategy, lambda weights: lambda inputs: added(weights, inputs))
    try:
        found = strategy.reduce("SUM", strategy.run(reads_value, args=(ones(strategy),)), axis=None)
    except Exception:  # noqa: BLE001 - the case
        found = np.float32(0)
    return weights, found, strategy.reduce("SUM", strategy.run(lambda x: x + 1, args=(ones(strategy),)), axis=None)


def test_a_refusal_that_the_program_catches_is_no_difference():
    report = ss.check(catching, replicas=[2], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert (row.schedule, row.equal_bits, row.problem) == ("compiled in part", True, None), str(report)
    assert "reads_value (test_law_of_compiled_steps.py:" in str(report)


def writing_before_an_error(strategy):
    held = []
    trained(strategy, lambda weights: held.append(weights) or (lambda inputs: added(weights, inputs)))

    def writes(x):
        held[0].assign_add(x[0] * ctx().xp.ones(3))
        return x + ctx().xp.ones(5)

    try:
        strategy.run(writes, args=(ones(strategy),))
    except ValueError:
        return held[0].numpy()
    return None


def test_a_step_that_writes_and_raises_an_error_that_is_caught_is_left_out():
    report = ss.check(writing_before_an_error, replicas=[2], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert (row.schedule, row.equal_bits, row.problem) == ("compiled in part", True, None), str(report)
    assert "writes (test_law_of_compiled_steps.py:" in str(report)


@dataclass
class Scale:
    """Cannot be hashed, and Scale(1) == Scale(1.0)."""

    factor: complex

    def __call__(self, x):
        return ctx().xp.asarray(x) * self.factor

    def method(self, x):
        return self(x)


@dataclass(unsafe_hash=True)
class HashedScale(Scale):
    """Can be hashed."""


@pytest.mark.parametrize("kind", [Scale, HashedScale])
def test_callables_that_are_equal_or_cannot_be_hashed_are_programs_of_their_own(kind):
    def program(strategy):
        numbers = ss.PerReplica([np.ones(2, np.int32)] * strategy.num_replicas_in_sync)
        steps = [kind(1), kind(1.0), kind(1).method, kind(1.0).method]
        return [strategy.reduce("SUM", strategy.run(step, args=(numbers,)), axis=None) for step in steps]

    report = ss.check(program, replicas=[2], without=["replicas"], compiled=True)
    (row,) = rows_of(report)
    assert (row.schedule, row.equal_bits, row.problem) == ("compiled", True, None), str(report)
