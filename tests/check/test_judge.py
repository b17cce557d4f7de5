"""What `check` compares, and what its verdict means: wrong backends that it must not let pass, sound ones that it must.

Clauses: J-1, J-2, J-3, J-4, J-5, J-6, J-7
"""

import collections
import dataclasses
import importlib.util
import itertools

import numpy as np
import pytest
from wrong_backend import second_time

import simstrategy as ss
from simstrategy.errors import Difference, InvalidArgument, NotJudged
from simstrategy.strategy import group_of

BACKENDS = [
    "sim",
    *[
        pytest.param(
            name,
            marks=[
                pytest.mark.slow,
                pytest.mark.skipif(importlib.util.find_spec(f"simstrategy_{name}") is None, reason=f"no {name}"),
            ],
        )
        for name in ("tensorflow", "torch", "xla")
    ],
]


def ctx():
    return ss.get_replica_context()


def all_but_the_largest_lost(host):
    kept = np.abs(host) == np.abs(host).max()
    return np.where(kept, host, 0)


SCALES = np.float32([5e8, 0.69, 0.12, 0.001])


def one_batch(strategy, array):
    """Returns an array as one batch: its rows are the replicas' parts, and nudged runs move it."""
    (batch,) = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(array).batch(len(array)))
    return batch


def sums(strategy):
    batch = one_batch(strategy, np.stack([SCALES, SCALES * np.float32(0.5)]))
    return strategy.run(lambda x: ctx().all_reduce("SUM", ctx().xp.sum(x, axis=0)), args=(batch,))


@pytest.mark.parametrize("inner", BACKENDS)
def test_a_sum_that_loses_its_small_elements_differs_though_the_largest_is_right(wrong, inner):
    right = ss.check(sums, backends=["sim", wrong(inner)], replicas=[2])
    assert right.agrees, str(right)
    report = ss.check(sums, backends=["sim", wrong(inner, all_reduce=all_but_the_largest_lost)], replicas=[2])
    assert report.verdict == "differ"
    (problem,) = report.problems()
    assert "step 1, replica 0: the result of all_reduce SUM at test_judge.py:" in problem
    assert "is 0.0 at [1], and the replicas' values 0.69, 0.345 add up to 1.03" in problem
    assert "rounding explains " in problem


@pytest.mark.parametrize(
    ("call", "change", "text"),
    [
        ("all_gather", np.flip, "is 2.0 at [0], and what was sent is 1.0"),
        ("reduce", lambda host: host + np.float32(1e-4), "is 3.0001 at [0], and the replicas' values 1.0, 2.0 add up"),
        ("all_reduce", lambda host: host * (1 + 1e-6), "is 3.0000029 at [0], and the replicas' values 1.0, 2.0 add up"),
    ],
)
def test_every_group_call_is_compared_with_what_entered_it(wrong, call, change, text):
    def program(strategy):
        value = strategy.experimental_distribute_values_from_function(
            lambda context: np.float32([context.replica_id_in_sync_group + 1])
        )
        if call == "all_gather":
            strategy.run(lambda x: ctx().all_gather(x, axis=0), args=(value,))
        elif call == "reduce":
            strategy.reduce("SUM", value)
        else:
            strategy.run(lambda x: ctx().all_reduce("SUM", x), args=(value,))
        return 0  # nothing of it is in the result

    (problem,) = ss.check(program, backends=["sim", wrong(**{call: change})], replicas=[2]).problems()
    assert text in problem
    assert ss.check(program, backends=["sim", wrong()], replicas=[2]).agrees


@pytest.mark.parametrize(
    ("terms", "result", "right"),
    [
        ([[1e8], [-1e8], [1.0]], [0.0], True),  # added from the left: 1; the other way: 0
        ([[1e8], [-1e8], [1.0]], [1e3], False),
        ([[3e38], [3e38], [-3e38]], [np.inf], True),
        ([[np.inf], [1.0], [1.0]], [np.inf], True),
        ([[np.inf], [1.0], [1.0]], [5.0], False),
        ([[np.inf], [-np.inf], [1.0]], [np.nan], True),
        ([[np.nan], [1.0], [1.0]], [2.0], False),
        ([[1e-41], [0.0], [0.0]], [0.0], True),  # subnormal numbers may become zero
        ([[1e-30], [0.0], [0.0]], [0.0], False),
    ],
)
def test_a_sum_is_judged_by_the_sizes_of_its_terms(terms, result, right):
    from simstrategy.check.sums import first_wrong_element

    found = first_wrong_element([np.float32(one) for one in terms], np.float32(result), "SUM")
    assert (found is None) == right, found


def test_sums_of_integers_wrap_and_minima_are_exact():
    from simstrategy.check.sums import first_wrong_element

    assert first_wrong_element([np.uint8([200]), np.uint8([100])], np.uint8([44]), "SUM") is None
    assert "add up to 44" in first_wrong_element([np.uint8([200]), np.uint8([100])], np.uint8([255]), "SUM")
    assert first_wrong_element([np.float32([1, np.nan])] * 2, np.float32([1, np.nan]), "MIN") is None
    assert "their MIN is 1.0" in first_wrong_element([np.float32([1, 2])] * 2, np.float32([1.0000001, 2]), "MIN")
    assert "is (1+0j) at [0]" in first_wrong_element([np.complex64([1 + 1e-9j])] * 1, np.complex64([1]), "SUM")


# Structures, objects, texts.


@dataclasses.dataclass
class Point:
    x: object
    y: object


class Plain:
    def __init__(self, values):
        self.values = values
        self.itself = self


class Slotted:
    __slots__ = ("not_set", "values")

    def __init__(self, values):
        self.values = values


Pair = collections.namedtuple("Pair", "a b")
LONG = np.arange(5000.0)
CHANGED = np.where((LONG >= 2000) & (LONG < 3000), 777.0, LONG)
UNEQUAL = {
    "an empty list and an empty dict": ([], {}),
    "an empty list and a dict of nothing": ([], {"a": ()}),
    "a list and a tuple": ([1, 2], (1, 2)),
    "a list and a dict": ([1, 2], {0: 1, 1: 2}),
    "a tuple and a named tuple": ((1, 2), Pair(1, 2)),
    "PerReplica and Mirrored": (ss.PerReplica([1.0, 1.0]), ss.Mirrored([1.0, 1.0])),
    "the imaginary part beside a NaN": (np.array([complex(np.nan, 1)]), np.array([complex(np.nan, 2)])),
    "NaN in another part": (np.array([complex(np.nan, 1)]), np.array([complex(1, np.nan)])),
    "a dataclass of long arrays": (Point(LONG, 1), Point(CHANGED, 1)),
    "a long array in an object": (Plain(LONG), Plain(CHANGED)),
    "a long array in slots": (Slotted(LONG), Slotted(CHANGED)),
    "an array of objects": (np.array([LONG, None], object), np.array([CHANGED, None], object)),
    "a long text": ("a" * 9000 + "b", "a" * 9000 + "c"),
    "an array of many texts": (np.array(["a"] * 5000), np.array(["a"] * 2000 + ["b"] + ["a"] * 2999)),
    "a set": ({1, 2}, {1, 3}),
    "records": (np.array([(1, 2.0)], "i4,f8"), np.array([(1, 3.0)], "i4,f8")),
    "a mask": (np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0], mask=[1, 0])),
    "dates": (np.array(["2020-01-01"], "M8[D]"), np.array(["2020-01-02"], "M8[D]")),
}


@pytest.mark.parametrize(("one", "other"), UNEQUAL.values(), ids=UNEQUAL)
def test_results_are_compared_in_full(wrong, one, other):
    name = wrong()
    for left, right in ((one, other), (other, one)):
        report = ss.check(second_time(lambda a=left: a, lambda b=right: b), backends=["sim", name], replicas=[2])
        assert report.verdict == "differ", str(report)
        (problem,) = report.problems()
        assert "result" in problem
        assert len(problem) < 500
        assert ss.check(lambda _, a=left: a, backends=["sim", name], replicas=[2]).agrees


def test_objects_without_a_text_of_their_own_are_the_same_in_every_run(wrong):
    def made():
        return [object(), Plain(Plain([])), second_time, int, {Point: 1}, frozenset(["a", "b"]), ss.Semantics.TF2]

    assert ss.check(second_time(made, made), backends=["sim", wrong()], replicas=[1]).agrees


def test_a_result_that_holds_itself_is_compared(wrong):
    def looped(last):
        found = [1]
        found += [found, last]
        return found

    name = wrong()
    assert ss.check(second_time(lambda: looped(1), lambda: looped(1)), backends=["sim", name], replicas=[1]).agrees
    report = ss.check(second_time(lambda: looped(1), lambda: looped(2)), backends=["sim", name], replicas=[1])
    assert report.verdict == "differ"


# Errors.


def stops(where):
    def program(strategy):
        with strategy.scope():
            variable = ss.Variable(np.float32([1, 2]), name="w")
            local = ss.Variable(
                np.float32(0),
                synchronization=ss.VariableSynchronization.ON_READ,
                aggregation=ss.VariableAggregation.SUM,
                name="n",
            )
        variable.assign(np.float32([3, 4]) if where(strategy) else np.float32([3, 5]))

        def step():
            if ctx().replica_id_in_sync_group == 1:
                raise KeyError("on purpose")
            local.assign_add(1.0)
            ctx().all_reduce("SUM", 1.0)

        strategy.run(step)

    return program


def is_wrong(strategy):
    return second_time(lambda: False, lambda: True)(strategy)


def test_variables_are_compared_after_an_error_too(wrong):
    settings = {"backends": ["sim", wrong()], "replicas": [2], "allow_errors": True}
    assert ss.check(stops(lambda _: True), **settings).agrees
    (problem,) = ss.check(stops(is_wrong), **settings).problems()
    assert "variable 0 'w', replica 0: element [1] is 4.0 against 5.0" in problem


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_replicas_had_written_before_an_error_depends_on_their_order_and_is_no_difference(backend):
    schedules = [ss.schedules.InOrder, *[lambda seed=seed: ss.schedules.Seeded(seed) for seed in range(3)]]
    report = ss.check(
        stops(lambda _: True), backends=["sim", backend], replicas=[3], schedules=schedules, allow_errors=True
    )
    assert report.agrees, str(report)


def test_addresses_in_an_error_are_no_difference_between_two_runs():
    def program(strategy):
        raise ValueError(f"cannot use {object()} and {np.random.default_rng(0)!r}")

    report = ss.check(program, replicas=[1, 2], allow_errors=True)
    assert report.agrees, str(report)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"timeout_s": "x"}, "timeout_s is a number of seconds above 0, got 'x'"),
        ({"timeout_s": True}, "timeout_s is a number"),
        ({"timeout_s": 0}, "above 0, got 0"),
        ({"timeout_s": float("nan")}, "above 0, got nan"),
        ({"allow_errors": "no"}, "allow_errors is True or False, got 'no'"),
        ({"allow_errors": 1}, "allow_errors is True or False"),
        ({"on_row": 3}, "on_row is a function"),
    ],
)
def test_settings_of_a_wrong_type_are_refused_before_anything_runs(settings, message):
    with pytest.raises(InvalidArgument, match=message):
        ss.check(lambda strategy: pytest.fail("it ran"), **settings)


# Verdicts.


def amplifies(strategy):
    """Squares a number until one ulp of it decides about everything."""

    def step(x):
        for _ in range(22):
            x = x * x
        return ctx().all_reduce("SUM", ctx().xp.sum(x))

    return strategy.run(step, args=(one_batch(strategy, np.float32([1.0000001, 1.0000001])),))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_left_of_a_saturated_function_is_rounding(backend):
    def left(strategy):
        batch = one_batch(strategy, np.linspace(7, 9, 24, dtype=np.float32))

        def step(x):
            p = ctx().xp.tanh(x)
            return (p - x) * (1 - p * p)

        return strategy.run(step, args=(batch,))

    report = ss.check(left, backends=["sim", backend], replicas=[2])
    assert report.verdict in ("agree", "undecided"), str(report)


def test_a_program_that_takes_another_way_where_functions_are_moved_is_measured_by_its_inputs():
    def program(strategy):
        batch = one_batch(strategy, np.float32([0.3, 0.7]))

        def step(x):
            xp = ctx().xp
            if group_of(strategy).backend.get(xp.exp(x * 0))[0] != 1:
                raise ValueError("another way")
            return x - x.dtype.type(0.29999) - xp.floor(x)

        return strategy.run(step, args=(batch,))

    report = ss.check(program, replicas=[2])
    assert list(report.problems()) == []
    assert report.rows[0].one_ulp > 1e-4


def a_little_more(host):
    return host * np.float32(1.0001)


def test_a_program_that_amplifies_rounding_is_not_judged(wrong):
    def moved(strategy):
        (first, *_) = strategy.experimental_local_results(amplifies(strategy))
        host = group_of(strategy).backend.get(first)
        return host * second_time(lambda: np.float32(1), lambda: np.float32(1.2))(strategy)

    report = ss.check(moved, backends=["sim", wrong()], replicas=[2])
    assert report.verdict == "undecided"
    assert not report.agrees
    assert "NOT JUDGED" in str(report)
    assert str(report).splitlines()[-1].startswith("Not all runs could be judged.")
    (text,) = report.undecided()
    assert "result: " in text
    with pytest.raises(NotJudged) as raised:
        report.raise_for_difference()
    assert isinstance(raised.value, AssertionError)
    assert not isinstance(raised.value, Difference)
    assert str(raised.value) == str(report)


def test_a_wrong_sum_is_found_where_the_result_cannot_be_judged(wrong):
    report = ss.check(amplifies, backends=["sim", wrong(all_reduce=a_little_more)], replicas=[2])
    assert report.verdict == "differ"
    assert "the result of all_reduce SUM" in next(report.problems())


def test_a_sound_backend_of_an_amplifying_program_still_agrees_to_the_bit(wrong):
    report = ss.check(amplifies, backends=["sim", wrong()], replicas=[2])
    assert report.agrees
    assert report.rows[1].equal_bits


def test_an_integer_that_one_ulp_of_the_inputs_changes_is_not_judged(wrong):
    def place(strategy):
        batch = one_batch(strategy, np.float32([1.0, 1.0, 1.0, 1.0]))
        host = group_of(strategy).backend.get(strategy.experimental_local_results(batch)[0])
        return int(np.argmax(host)) + second_time(lambda: 0, lambda: 1)(strategy)

    report = ss.check(place, backends=["sim", wrong()], replicas=[1])
    assert report.verdict == "undecided"
    assert "changes it as well" in str(report)


# Precision.


def loss_of(result):
    """Returns a program whose loss is a number of the host, computed from float32 or float64 arrays."""

    def program(strategy):
        batch = one_batch(strategy, result.dtype.type([0.1, 0.2, 0.4]))
        strategy.run(lambda x: ctx().all_reduce("SUM", ctx().xp.sum(x)), args=(batch,))
        return second_time(lambda: float(result), lambda: float(np.nextafter(result, result.dtype.type(9))))(strategy)

    return program


def test_a_number_of_the_host_is_as_precise_as_the_arrays_that_it_comes_from(wrong):
    name = wrong()
    single, double = loss_of(np.float32(0.7)), loss_of(np.float64(0.7))
    assert ss.check(single, backends=["sim", name], replicas=[2]).agrees
    assert ss.check(double, backends=["sim", name], replicas=[2]).agrees

    def off(strategy):
        batch = one_batch(strategy, np.float64([0.1, 0.2, 0.4]))
        strategy.run(lambda x: ctx().all_reduce("SUM", ctx().xp.sum(x)), args=(batch,))
        return second_time(lambda: 0.7, lambda: 0.7 * (1 + 1e-8))(strategy)

    assert ss.check(off, backends=["sim", name], replicas=[2]).verdict == "differ"


def test_a_mean_of_losses_on_the_host_is_as_precise_as_the_losses(wrong):
    losses = np.float32([0.7, 0.3, 0.1])

    def program(strategy):
        strategy.run(lambda: ctx().all_reduce("SUM", np.float32(1)))
        moved = second_time(lambda: losses, lambda: np.nextafter(losses, np.float32(9)))(strategy)
        return {"mean": sum(map(float, moved)) / 3, "all": np.array([float(one) for one in moved])}

    assert ss.check(program, backends=["sim", wrong()], replicas=[2]).agrees


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_the_losses_of_plain_regressions_agree_as_floats(backend):
    def regression(seed):
        def program(strategy):
            random = np.random.default_rng(seed)
            x = random.normal(size=(24, 3)).astype(np.float32)
            y = (x @ random.normal(size=3)).astype(np.float32)
            with strategy.scope():
                weights = ss.Variable(np.zeros(3, np.float32), aggregation=ss.VariableAggregation.SUM)

            def step(x, y):
                xp = ctx().xp
                error = xp.matmul(x, weights.value()) - y
                weights.assign_sub(0.1 / 8 * xp.matmul(xp.matrix_transpose(x), error))
                return ctx().all_reduce("SUM", xp.sum(error * error)) / 8

            data = ss.data.Dataset.from_tensor_slices((x, y)).batch(8)
            losses = [strategy.run(step, args=batch) for batch in strategy.experimental_distribute_dataset(data)]
            return [float(strategy.experimental_local_results(loss)[0]) for loss in losses]

        return program

    for seed in range(6):
        report = ss.check(regression(seed), backends=["sim", backend], replicas=[2])
        assert report.agrees, f"seed {seed}: {report}"


def test_a_number_that_no_array_was_used_for_is_single_only_if_it_fits(wrong):
    name = wrong()
    for one, other, verdict in ((0.5, 0.5 + 2**-24, "agree"), (0.1, 0.1 * (1 + 1e-8), "differ")):
        report = ss.check(second_time(lambda a=one: a, lambda b=other: b), backends=["sim", name], replicas=[1])
        assert report.verdict == verdict, str(report)


def test_results_that_change_from_run_to_run_are_found_in_objects_too():
    counter = itertools.count()
    report = ss.check(lambda strategy: Point(next(counter), 1), replicas=[1])
    assert "result.x: 1 against 0" in str(report)
