"""Constants and layouts of compiled steps of the simulator.  Clauses: P-2, P-10."""

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.strategy import programs_of

RANKS = 3


def opened():
    return ss.Strategy.mirrored(ss.backend("sim", replicas=RANKS, stacked=True))


def ones():
    return ss.PerReplica([np.ones(2, np.float32)] * RANKS)


@pytest.mark.parametrize(
    "constants",
    [(0.0, -0.0), (0j, complex(-0.0, 0.0), complex(0.0, -0.0)), (1, 1.0, True, 1 + 0j), (b"1", "1")],
    ids=["floats", "complex", "types", "texts"],
)
def test_constants_that_are_equal_and_not_the_same_are_programs_of_their_own(constants):
    strategy = opened()
    step = strategy.compile(lambda x, constant: (x, repr(constant)))
    for constant in constants * 2:
        assert strategy.run(step, args=(ones(), constant))[1] == repr(constant)
    assert len(programs_of(strategy)) == len(constants)


@pytest.mark.parametrize(
    "made",
    [lambda: float("nan"), lambda: ss.PerReplica([float("nan") for _ in range(RANKS)])],
    ids=["one", "one for each replica"],
)
def test_a_nan_is_one_constant_in_all_runs_and_on_all_replicas(made):
    strategy = opened()
    step = strategy.compile(lambda x, constant: x * constant)
    for _ in range(3):
        strategy.run(step, args=(ones(), made()))
    assert len(programs_of(strategy)) == 1


def test_one_number_for_all_and_equal_numbers_are_programs_of_their_own():
    """Only the second may be summed (U-3), and both may come in turn."""
    strategy = opened()
    step = strategy.compile(lambda x, constant: x * constant)
    for _ in range(2):
        strategy.run(step, args=(ones(), float("nan")))
        strategy.run(step, args=(ones(), ss.PerReplica([float("nan") for _ in range(RANKS)])))
    assert len(programs_of(strategy)) == 2


def test_a_zero_of_either_sign_on_the_replicas_is_no_one_constant():
    strategy = opened()
    step = strategy.compile(lambda x, constant: x * constant)
    found = strategy.run(step, args=(ones(), ss.PerReplica([0.0, -0.0, 0.0])))
    assert [bool(np.signbit(one[0])) for one in found.values] == [False, True, False]
    assert not programs_of(strategy)


def test_objects_that_are_equal_are_constants_of_their_own():
    class Equal:
        def __init__(self, number):
            self.number = number

        def __eq__(self, other):
            return isinstance(other, Equal)

        def __hash__(self):
            return 1

    strategy = opened()
    step = strategy.compile(lambda x, constant: x * constant.number)
    found = [strategy.run(step, args=(ones(), Equal(number))).values[0][0] for number in (1.0, 2.0)]
    assert found == [1.0, 2.0]


def assert_sums_alike(make):
    """make: of the number of a replica, its array [70, 60]."""
    strategy = opened()
    given = ss.PerReplica([make(rank) for rank in range(RANKS)])
    turned = strategy.run(lambda x: ctx().xp.permute_dims(ctx().xp.asarray(x), (1, 0)), args=(given,))

    def step(x):
        return ctx().xp.sum(x), ctx().xp.sum(x * x)

    tasks, stacked = (strategy.run(one, args=(turned,)) for one in (step, strategy.compile(step)))
    for one, other in zip(tasks, stacked, strict=True):
        assert [np.asarray(part).tobytes() for part in other.values] == [
            np.asarray(part).tobytes() for part in one.values
        ]


def test_arrays_whose_axes_lie_in_another_order_are_added_in_the_order_of_the_tasks():
    assert_sums_alike(lambda rank: np.random.default_rng(rank).normal(size=(70, 60)).astype(np.float32))


def test_equal_arrays_keep_their_order_of_axes_too():
    assert_sums_alike(lambda _: np.random.default_rng(0).normal(size=(70, 60)).astype(np.float32))
