"""A compiled step on the simulator gives what its tasks give, and refuses what they refuse.  Clauses: P-1, P-8."""

import numpy as np
import pytest
from threads import at_once

import simstrategy as ss
from simstrategy.errors import ContextError, InvalidArgument, InvalidType

COUNT = 3
SUM = ss.VariableAggregation.SUM


@pytest.fixture
def stacked():
    return ss.Strategy.mirrored(ss.backend("sim", replicas=COUNT, stacked=True))


def xp():
    return ss.get_replica_context().xp


def listed(value):
    return [np.asarray(one).tolist() for one in getattr(value, "values", (value,))]


def both(strategy, step, *calls):
    """Returns the results of calls of the step compiled, and as tasks.  calls: (args, kwargs)."""
    compiled = strategy.compile(step)
    return [[strategy.run(one, args, kwargs) for args, kwargs in calls] for one in (compiled, step)]


@pytest.mark.parametrize("by_name", [False, True])
def test_a_step_receives_its_keys_in_the_order_of_each_call(stacked, by_name):
    x, y = (stacked.run(lambda value=value: xp().ones(2) * value) for value in (1.0, 3.0))

    def step(given=None, **named):
        first, second = (given or named).values()
        return first - 2 * second, list(given or named)

    nests = [{"a": x, "b": y}, {"b": y, "a": x}, {"b": x, "a": y}]
    calls = [((), nest) if by_name else ((nest,), {}) for nest in nests]
    ours, theirs = both(stacked, step, *calls)
    for (one, keys), (other, other_keys) in zip(ours, theirs, strict=True):
        assert listed(one) == listed(other)
        assert keys == other_keys


@pytest.mark.parametrize("keys", [(1, True, 1.0, np.int64(1)), (0.0, -0.0, False, 0)])
def test_a_step_receives_the_keys_of_the_call_and_not_equal_ones_of_an_earlier_one(stacked, keys):
    x = stacked.run(lambda: xp().ones(2))
    ours, theirs = both(stacked, lambda given: list(map(repr, given)), *[(({key: x},), {}) for key in keys])
    assert ours == [[repr(key)] for key in keys]
    assert [set(getattr(one, "values", (one,))) for (one,) in theirs] == [{repr(key)} for key in keys]


def test_components_whose_keys_come_in_other_orders_run_as_tasks(stacked):
    given = ss.PerReplica([{"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}, {"a": 1.0, "b": 2.0}])
    step = stacked.compile(lambda nest: next(iter(nest)))
    assert stacked.run(step, (given,)).values == ("a", "b", "a")


@pytest.mark.parametrize("others", ["compiled", "tasks", "outside"])
def test_compiled_steps_of_several_threads_lose_no_write(stacked, others):
    with stacked.scope():
        variable = ss.Variable(np.float32(0), aggregation=SUM)
    x = stacked.run(lambda: xp().asarray(1.0))

    def step(x):
        return variable.assign_add(x)

    compiled = stacked.compile(step)
    stacked.run(compiled, (x,))
    variable.assign(0.0)
    kinds = {
        "compiled": lambda: stacked.run(compiled, (x,)),
        "tasks": lambda: stacked.run(step, (x,)),
        "outside": lambda: variable.assign_add(3.0),
    }

    actions = [kinds[name] for name in ("compiled", "compiled", others)]

    def work(number):
        for _ in range(150):
            actions[number]()

    at_once(work, range(3))
    assert variable.numpy() == 3 * 150 * COUNT


def test_a_step_that_another_strategy_compiled_runs_on_the_one_that_runs_it(stacked):
    other = ss.Strategy.mirrored(ss.backend("sim", replicas=2, stacked=True))
    step = stacked.compile(lambda: xp().ones(2) * ss.get_replica_context().num_replicas_in_sync)
    assert listed(stacked.run(step)) == [[3.0, 3.0]] * 3
    assert listed(other.run(step)) == [[2.0, 2.0]] * 2
    with other.scope(), pytest.raises(ContextError, match="Mixing different strategies"):
        stacked.run(step)


def summed_values():
    numbers = np.float32([1, 2, 3])
    shared = [1.0, 2.0, 3.0]
    return {
        "an array": lambda: numbers,
        "a list": lambda: shared,
        "a number": lambda: 2.0,
    }


@pytest.mark.parametrize("name", list(summed_values()))
def test_one_object_of_all_replicas_is_not_summed(stacked, name):
    with stacked.scope():
        variable = ss.Variable(np.zeros(3, np.float32), aggregation=SUM)
        scalar = ss.Variable(np.float32(0), aggregation=SUM)
    target, value = (scalar if name == "a number" else variable), summed_values()[name]

    def step():
        return target.assign_add(value())

    texts = []
    for one in (step, stacked.compile(step)):
        with pytest.raises(InvalidArgument, match=r"cannot be reduced with ReduceOp\.SUM") as caught:
            stacked.run(one)
        texts.append(str(caught.value).partition(" (")[0])
    assert texts[0] == texts[1]
    assert not np.any(target.numpy())


def test_an_argument_that_all_replicas_share_is_not_summed_and_one_of_each_is(stacked):
    with stacked.scope():
        variable = ss.Variable(np.zeros(3, np.float32), aggregation=SUM)
    step = stacked.compile(variable.assign_add)
    given = np.float32([1, 2, 3])
    with pytest.raises(InvalidArgument, match=r"cannot be reduced with ReduceOp\.SUM"):
        stacked.run(step, (given,))
    stacked.run(step, (ss.PerReplica([given.copy() for _ in range(COUNT)]),))
    stacked.run(stacked.compile(lambda: variable.assign_add(np.float32([1, 2, 3]))))
    stacked.run(stacked.compile(lambda: variable.assign_add(np.zeros(3, np.float32))))
    zeros = np.zeros(3, np.float32)
    stacked.run(stacked.compile(lambda: variable.assign_add(zeros)))
    stacked.run(step, (zeros,))
    with pytest.raises(InvalidArgument, match=r"cannot be reduced with ReduceOp\.SUM"):
        stacked.run(step, (given,))
    assert variable.numpy().tolist() == [6.0, 12.0, 18.0]


def test_equal_numbers_of_each_replica_are_summed_and_one_number_is_not(stacked):
    with stacked.scope():
        variable = ss.Variable(np.float32(0), aggregation=SUM)
    step = stacked.compile(variable.assign_add)
    equal = [float(text) for text in ["1000.5"] * COUNT]
    assert equal[0] is not equal[1]
    for one in (variable.assign_add, step):
        stacked.run(one, (ss.PerReplica(equal),))
        with pytest.raises(InvalidArgument, match=r"cannot be reduced with ReduceOp\.SUM"):
            stacked.run(one, (equal[0],))
    assert variable.numpy() == 2 * COUNT * 1000.5


def test_the_only_replica_sums_what_it_shares_with_nobody():
    strategy = ss.Strategy.mirrored(ss.backend("sim", replicas=1, stacked=True))
    with strategy.scope():
        variable = ss.Variable(np.float32(0), aggregation=SUM)
    strategy.run(strategy.compile(lambda: variable.assign_add(2.0)))
    strategy.run(strategy.compile(variable.assign_add), (3.0,))
    assert variable.numpy() == 5.0


def test_the_memory_under_a_read_only_view_may_change(stacked):
    x = stacked.run(lambda: xp().ones(2))
    views = [one[:] for one in x.values]
    for view in views:
        view.setflags(write=False)
    given = ss.PerReplica(views)
    with stacked.scope():
        variable = ss.Variable(np.zeros(2, np.float32), aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)
    doubled = stacked.compile(lambda x: x * 2)
    stacked.run(doubled, (given,))
    stacked.run(variable.assign, (given,))
    x.values[0][:] = 99
    assert listed(stacked.run(doubled, (given,))) == [[198.0, 198.0], [2.0, 2.0], [2.0, 2.0]]
    assert variable.numpy().tolist() == [1.0, 1.0]


def test_a_result_that_is_written_to_does_not_come_back(stacked):
    step = stacked.compile(lambda: {"kept": np.zeros(3)})
    stacked.run(step)["kept"][:] = 7
    assert stacked.run(step)["kept"].tolist() == [0.0, 0.0, 0.0]


WRONG = {
    "full": [lambda: xp().full((2,)), lambda: xp().full(), lambda: xp().full((2,), 1, shape=2)],
    "full of a dtype by place": [lambda: xp().full((2,), 1, "float32")],
    "zeros_like": [lambda: xp().zeros_like(), lambda: xp().zeros_like(xp().ones(2), 1)],
    "ones_like": [lambda: xp().ones_like(x=xp().ones(2))],
    "take": [lambda: xp().take(xp().ones((2, 2)), [0, 1], axis=None)],
    "permute_dims": [lambda: xp().permute_dims(xp().ones((2, 2)), None)],
    "reshape": [lambda: xp().reshape(xp().ones((2, 2)), None)],
}


@pytest.mark.parametrize("name", list(WRONG))
def test_a_wrong_call_is_refused_as_in_tasks(stacked, name):
    for step in WRONG[name]:
        texts = []
        for one in (step, stacked.compile(step)):
            with pytest.raises(InvalidType) as caught:
                stacked.run(one)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


def test_a_mistake_in_a_step_is_named_though_its_replica_has_no_number(stacked):
    with stacked.scope():
        variable = ss.Variable(0.0)
    with pytest.raises(InvalidArgument, match=r"specify an aggregation method .* in every replica"):
        stacked.run(stacked.compile(lambda: variable.assign_add(xp().asarray(1.0))))
    for action in (lambda: stacked.reduce("SUM", 0.0, axis=None), lambda: stacked.scope().__enter__()):
        with pytest.raises(ContextError, match="called inside every replica"):
            stacked.run(stacked.compile(action))


CONSTANT = np.float32([5, 6])
LISTED = [1.0, 2.0]
WRITES = {
    "a constant": lambda v, w: v.assign_add(CONSTANT),
    "a constant list": lambda v, w: v.assign_add(LISTED),
    "a constant tuple": lambda v, w: v.assign_add((1.0, 2.0)),
    "a list of each": lambda v, w: v.assign_add([1.0, 2.0]),
    "an array of each": lambda v, w: v.assign_add(np.ones(2, np.float32)),
    "ones": lambda v, w: v.assign_add(xp().ones(2)),
    "ones, twice": lambda v, w: (v.assign_add(xp().ones(2)), v.assign_add(xp().ones(2)))[1],
    "a variable": lambda v, w: v.assign_add(w),
    "its value": lambda v, w: v.assign_add(w.value()),
    "itself": lambda v, w: v.assign_add(v),
    "a sum": lambda v, w: v.assign_add(ss.get_replica_context().all_reduce("SUM", xp().ones(2))),
    "what is assigned": lambda v, w: v.assign(CONSTANT),
}


@pytest.mark.parametrize("aggregation", ["SUM", "MEAN", "ONLY_FIRST_REPLICA"])
@pytest.mark.parametrize("name", list(WRITES))
def test_a_write_does_what_it_does_in_tasks_or_is_refused_as_there(stacked, name, aggregation):
    found = []
    for compiled in (False, True):
        with stacked.scope():
            one = ss.Variable(np.float32([10, 20]), aggregation=ss.VariableAggregation[aggregation], name="one")
            other = ss.Variable(np.float32([1, 2]), aggregation=SUM, name="other")

        def step(one=one, other=other):
            return WRITES[name](one, other)

        try:
            stacked.run(stacked.compile(step) if compiled else step)
            found.append(one.numpy().tolist())
        except InvalidArgument as error:
            found.append(str(error).partition("\n")[0])
    assert found[0] == found[1]


def test_a_variable_that_is_equal_on_all_replicas_stays_one_memory(stacked):
    """Copies on each write would be stacked and compared in the next run: eight times the time of a step."""
    x = stacked.run(lambda: xp().ones((2, 3)))
    with stacked.scope():
        variables = [ss.Variable(np.zeros(shape, np.float32), aggregation=SUM) for shape in ((2, 3), (6,), (3, 2))]

    def step(given):
        # A sum, a view of it, and a view with other strides: of all, the memory is this program's own.
        for variable, wanted in zip(variables, (given, xp().reshape(given, (6,)), given.T), strict=True):
            variable.assign_add(wanted)
            variable.assign(xp().reshape(variable.value() * 2, wanted.shape))

    compiled = stacked.compile(step)
    for _ in range(2):
        stacked.run(compiled, (x,))
        for variable in variables:
            first, *others = stacked.experimental_local_results(variable)
            assert all(np.shares_memory(first, one) for one in others)
