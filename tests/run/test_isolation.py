"""Global random generators that each replica has to itself: the draws are those of a process of its own."""

import random
import subprocess
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from vocabulary import ctx, line_here, rank

import simstrategy as ss
from simstrategy.device import GLOBAL_GENERATORS, GlobalGenerator
from simstrategy.device.wrapper import Wrapper
from simstrategy.errors import GeneratorsMixed, InvalidArgument, ReplicasDisagree
from simstrategy.schedules import Seeded
from simstrategy.sim import Cluster
from simstrategy.values import select

pytestmark = pytest.mark.usefixtures("generators_as_before")


def draw():
    return random.random(), float(np.random.rand()), float(np.random.normal())


def draws(strategy):
    """Draws in replicas before and after synchronisation points, in merge functions, and outside of replicas."""
    random.seed(3)
    np.random.seed(4)

    def step(number):
        before = draw()
        ctx().all_reduce("SUM", 1.0)
        if rank() == 1:
            draw()  # this one takes more from here on
        merged = ctx().merge_call(lambda _: number)
        return before, draw(), merged

    found = [strategy.run(step, args=(number,)) for number in range(3)]
    return found, draw()


def of_rank(wanted, result):
    """Returns what replica `wanted` drew."""
    return [select(wanted, one) for one in result[0]]


def alone(wanted):
    """The same, in a run whose only replica behaves as `wanted`."""
    random.seed(3)
    np.random.seed(4)
    found = []
    for number in range(3):
        before = draw()
        if wanted == 1:
            draw()
        found.append((before, draw(), number))
    return found, draw()


# Clauses: M-17
@pytest.mark.parametrize("schedule", [None, Seeded(1), Seeded(5)], ids=["in order", "seed 1", "seed 5"])
def test_each_replica_draws_what_it_would_draw_alone_under_every_schedule_and_executor(mirrored, executor, schedule):
    strategy = mirrored(3, isolate=True, executor=executor, schedule=schedule)
    result = draws(strategy)
    for replica in range(3):
        assert of_rank(replica, result) == alone(replica)[0]
    assert result[1] == alone(0)[1]


# Clauses: M-17
def test_without_it_replicas_draw_one_after_the_other(mirrored):
    strategy = mirrored(2)
    random.seed(3)
    first, second = strategy.run(random.random).values
    random.seed(3)
    assert [first, second] == [random.random(), random.random()]


# Clauses: M-17
def test_a_seed_of_a_replica_is_its_own_and_the_program_goes_on_as_replica_0(mirrored):
    strategy = mirrored(3, isolate=True)
    strategy.run(lambda: random.seed(rank()))
    values = strategy.run(random.random).values
    assert list(values) == [random.Random(one).random() for one in range(3)]
    zero = random.Random(0)
    assert [zero.random(), zero.random()] == [values[0], random.random()]


# Clauses: M-17
def test_a_seed_outside_of_replicas_reaches_all_of_them(mirrored):
    strategy = mirrored(2, isolate=True)
    for seed in (7, 8):
        random.seed(seed)
        assert list(strategy.run(random.random).values) == [random.Random(seed).random()] * 2


# Clauses: M-17
def test_a_draw_outside_after_replicas_have_parted_warns_once_at_the_run(mirrored):
    strategy = mirrored(3, isolate=True)
    strategy.run(lambda: random.seed(rank()))
    random.random()
    with pytest.warns(GeneratorsMixed, match=r"global generator of random outside .* where replicas 1, 2 had") as seen:
        strategy.run(random.random)
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, line_here() - 1)]
    strategy.run(lambda: random.seed(rank()))
    random.random()
    strategy.run(random.random)
    strict = mirrored(2, isolate=True, checks="strict")
    strict.run(lambda: random.seed(rank()))
    random.random()
    with pytest.raises(ReplicasDisagree, match="or do without strict checks"):
        strict.run(random.random)


# Clauses: M-17
def test_after_an_error_the_program_goes_on_as_replica_0_and_the_next_run_draws_on(mirrored, executor):
    strategy = mirrored(2, isolate=True, executor=executor)
    random.seed(3)
    expected = random.Random(3)

    def fails():
        random.random()
        ctx().all_reduce("SUM", 1.0)
        if rank() == 1:
            random.random()
            raise KeyError(random.random())

    with pytest.raises(KeyError):
        strategy.run(fails)
    assert expected.random()
    assert random.random() == expected.random()


# Clauses: M-17
def test_runs_inside_merge_functions_go_on_from_their_replicas(mirrored):
    strategy = mirrored(2, isolate=True)
    random.seed(3)

    def step():
        first = random.random()
        inner = ctx().merge_call(lambda strategy: strategy.run(random.random))
        return first, inner, random.random()

    found = strategy.run(step)
    expected = random.Random(3)
    assert [select(1, one) for one in found] == [expected.random() for _ in range(3)]


def acme(state):
    """Returns a module with a generator that counts."""
    module = ModuleType("acme_randoms")
    module.state = state
    return module


def set_counter(module, state):
    module.state = state


COUNTER = GlobalGenerator("acme_randoms", lambda module: module.state, set_counter)


class WithCounter(Wrapper):
    """A backend whose framework keeps a generator for the whole process."""

    def __init__(self, inner):
        Wrapper.__init__(self, inner)
        self.capabilities = replace(inner.capabilities, generators=(COUNTER,))


def count():
    module = sys.modules["acme_randoms"]
    module.state += 1
    return module.state


# Clauses: M-17
def test_a_backend_adds_the_generators_of_its_framework_which_is_not_imported(sim, monkeypatch):
    strategy = ss.Strategy.mirrored(WithCounter(sim(2)), isolate=True)
    assert strategy.run(rank).values == (0, 1)
    monkeypatch.setitem(sys.modules, "acme_randoms", acme(10))
    assert strategy.run(lambda: (count(), ctx().all_reduce("SUM", 1.0), count()))[2] == 12
    assert count() == 13


@pytest.mark.slow
def test_no_module_is_imported_for_it():
    program = (
        "import sys, simstrategy as ss\n"
        "ss.Strategy.mirrored('sim', replicas=2, isolate=True).run(lambda: 1)\n"
        "assert not {'torch', 'tensorflow', 'jax'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_states_of_numpys_generators_are_kept_to_the_bit(kind):
    numpy = next(one for one in GLOBAL_GENERATORS if one.module == "numpy.random")
    before = np.random.get_bit_generator()
    try:
        np.random.set_bit_generator(kind(5))
        np.random.normal()
        state = numpy.read(np.random)
        drawn = np.random.normal(size=3)
        assert numpy.read(np.random) != state
        numpy.write(np.random, state)
        assert numpy.read(np.random) == state
        assert np.array_equal(np.random.normal(size=3), drawn)
    finally:
        np.random.set_bit_generator(before)


@pytest.mark.parametrize("wrong", [1, "yes", None])
def test_isolate_is_true_or_false(wrong):
    with pytest.raises(InvalidArgument, match="isolate is True or False"):
        ss.Strategy.mirrored("sim", isolate=wrong)


# Clauses: M-17
def test_workers_of_a_cluster_draw_as_processes_do():
    random.seed(3)
    np.random.seed(4)
    results = Cluster(3, 1, isolate=True).run(draws)
    for worker, (found, last) in enumerate(results):
        expected = alone(worker)
        assert [tuple(one) for one in found] == expected[0]
        assert last == expected[1]


# Clauses: M-17
def test_what_a_cluster_drew_is_not_drawn_again():
    first, second = (Cluster(2, 1, isolate=True).run(lambda strategy: random.random()) for _ in range(2))
    assert first[0] == first[1]
    assert first[0] != second[0]
