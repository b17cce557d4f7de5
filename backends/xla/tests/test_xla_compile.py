"""Compiled steps: one program for all ranks does what its lanes do.  Clauses: P-1, P-2, P-3, P-4, P-5."""

from pathlib import Path

import numpy as np
import pytest
from threads import at_once
from vocabulary import ctx

import simstrategy as ss
from simstrategy.check.programs import load_program
from simstrategy.errors import CannotCompile, InvalidArgument, InvalidType, Unsupported
from simstrategy.strategy import programs_of

RANKS = 4
EXAMPLE = Path(__file__).parents[3] / "examples" / "compiled_digits.py"
AGGREGATION, SYNCHRONIZATION = ss.VariableAggregation, ss.VariableSynchronization


@pytest.fixture
def strategy():
    return ss.Strategy.mirrored("xla", replicas=RANKS)


def rows(strategy, *shape):
    """Float32 rows of eighths, other ones on each rank, or of another number if shapes are to differ."""
    count = int(np.prod(shape))
    return ss.PerReplica([np.arange(r, r + count, dtype=np.float32).reshape(shape) / 8 for r in range(RANKS)])


def host(value, components=RANKS):
    return [np.asarray(one) for one in getattr(value, "values", (value,) * components)]


def assert_same(compiled, lanes):
    assert compiled.keys() == lanes.keys()
    for name, value in lanes.items():
        for one, other in zip(host(compiled[name]), host(value), strict=True):
            assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes()), name


def collectives(x):
    xp = ctx().xp
    return {
        "sum": ctx().all_reduce("SUM", x),
        "mean": ctx().all_reduce("MEAN", x),
        "nest": ctx().all_reduce("SUM", [x, {"a": xp.sum(x)}])[1]["a"],
        "ints": ctx().all_reduce("MEAN", xp.astype(xp.sum(x), "int32")) if x.dtype == "float64" else x,
        "gathered": ctx().all_gather(x, 0),
        "gathered on the last axis": ctx().all_gather(x, -1),
        "scalar": ctx().all_reduce("SUM", xp.sum(x)),
        "made": xp.add(xp.ones((2,)), xp.asarray([1.0, 2.0])),
        "own": xp.multiply(x, 2.0),
    }


def merges(x):
    return {
        "reduced": ctx().merge_call(lambda s, value: s.reduce("SUM", value, axis=0), args=(x,)),
        "mean": ctx().merge_call(lambda s, value: s.reduce("MEAN", value, axis=(0, 1)), args=(x,)),
        "gathered": ctx().merge_call(lambda s, value: s.gather(value, 0), args=(x,)),
        "broadcast": ctx().merge_call(lambda s: s.extended.broadcast_to(np.float32([1, 2]), None)),
    }


def gradients(x):
    import jax

    weights = ctx().xp.asarray([1.0, 2.0, 3.0])

    def summed(value):
        return ctx().xp.sum(ctx().xp.multiply(ctx().all_reduce("SUM", value), weights))

    def gathered(value):
        return ctx().xp.sum(ctx().xp.square(ctx().all_gather(value, 0)))

    return {"sum": jax.grad(summed)(x[0]), "gather": jax.grad(gathered)(x)}


@pytest.mark.parametrize("step", [collectives, merges, gradients], ids=lambda step: step.__name__)
def test_a_program_gives_what_the_lanes_give(strategy, step):
    x = rows(strategy, 2, 3)
    assert_same(strategy.run(strategy.compile(step), args=(x,)), strategy.run(step, args=(x,)))


@pytest.mark.slow
@pytest.mark.deep
def test_the_compiled_steps_of_the_digits_are_their_lanes():
    """And the simulator's, where a step is its function: to a few roundings of float32."""
    steps = load_program(EXAMPLE, "first_steps")
    strategy = ss.Strategy.mirrored("xla", replicas=2)
    compiled, lanes = steps(strategy), steps(strategy, compiles=False)
    simulated = steps(ss.Strategy.mirrored("sim", replicas=2))
    assert [*compiled] == ["softmax_step", "mlp_step"]
    assert len(programs_of(strategy)) == 2
    for name, found in compiled.items():
        for one, lane, other in zip(found, lanes[name], simulated[name], strict=True):
            np.testing.assert_allclose(np.asarray(one), np.asarray(lane), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-5, atol=1e-6)


def variables(strategy):
    kinds = {
        "sum": {"aggregation": AGGREGATION.SUM},
        "mean": {"aggregation": AGGREGATION.MEAN},
        "first": {"aggregation": AGGREGATION.ONLY_FIRST_REPLICA},
        "own": {"aggregation": AGGREGATION.SUM, "synchronization": SYNCHRONIZATION.ON_READ},
    }
    with strategy.scope():
        return {name: ss.Variable(np.float32([8, 16]), name=name, **kind) for name, kind in kinds.items()}


def test_variables_are_read_written_and_updated_as_by_lanes():
    def program(compile_it):
        strategy = ss.Strategy.mirrored("xla", replicas=RANKS)
        made = variables(strategy)

        def step_down(merged, gradients):
            total = merged.extended.reduce_to("SUM", gradients, made["mean"])
            return merged.extended.update(made["mean"], lambda one, more: one.assign_sub(more), args=(total,))

        def step(x, rate):
            xp = ctx().xp
            before = made["sum"].value()
            made["sum"].assign_sub(xp.multiply(x, rate))
            made["mean"].assign_add(x)
            made["first"].assign(x)
            made["own"].assign_add(xp.multiply(x, made["mean"].read_value()))
            merged = ctx().merge_call(step_down, args=(x,))
            assert merged is made["mean"]
            return {"before": before, "after": made["sum"].value()}

        run = strategy.compile(step) if compile_it else step
        seen = [strategy.run(run, args=(rows(strategy, 2), 0.5)) for _ in range(3)]
        return seen, {name: host(ss.PerReplica(one.components)) for name, one in made.items()}

    (compiled, stored), (lanes, wanted) = program(True), program(False)
    for one, other in zip(compiled, lanes, strict=True):
        assert_same(one, other)
    for name, components in wanted.items():
        assert [one.tobytes() for one in stored[name]] == [one.tobytes() for one in components], name


def test_a_step_is_traced_once_for_arguments_of_one_form(strategy):
    calls = []

    def step(x, rate):
        calls.append(rate)
        return ctx().xp.multiply(x, rate)

    compiled = strategy.compile(step)
    for _ in range(3):
        strategy.run(compiled, args=(rows(strategy, 2), 2.0))
    first = len(calls)
    strategy.run(compiled, args=(rows(strategy, 2), 4.0))
    assert 0 < first < len(calls)
    assert host(strategy.run(compiled, args=(rows(strategy, 2), 4.0)))[1].tolist() == [0.5, 1.0]
    assert repr(compiled).startswith("<compiled ")


def test_unequal_shapes_take_the_lanes_for_that_step_and_are_not_padded(strategy):
    seen = []

    def step(x):
        seen.append(x.shape)
        return ctx().xp.mean(x)

    compiled = strategy.compile(step)
    uneven = ss.PerReplica([np.ones(r + 1, np.float32) * (r + 1) for r in range(RANKS)])
    assert [float(one) for one in strategy.run(compiled, args=(uneven,)).values] == [1, 2, 3, 4]
    assert sorted(seen) == [(1,), (2,), (3,), (4,)]
    mixed = ss.PerReplica([2.0, 3.0, 4.0, 5.0])
    assert strategy.run(strategy.compile(lambda rate: [rate * 2]), args=(mixed,))[0].values == (4, 6, 8, 10)


def test_a_compiled_step_is_one_event_of_the_trace():
    trace = ss.trace.Trace()
    strategy = ss.Strategy.mirrored("xla", replicas=RANKS, trace=trace)

    def step(x):
        return ctx().all_reduce("SUM", x)

    strategy.run(strategy.compile(step), args=(rows(strategy, 2),))
    (event,) = trace.events()
    assert (event.kind, event.shapes, event.dtypes) == ("compiled", ((2,),), ("float32",))
    assert event.subject.startswith("step (")


def test_a_compiled_step_called_in_a_replica_is_the_function_itself(strategy):
    compiled = strategy.compile(lambda x: ctx().all_reduce("SUM", x))
    total = strategy.run(lambda x: compiled(x), args=(rows(strategy, 1),))  # noqa: PLW0108 - called, not passed
    assert [one.tolist() for one in host(total)] == [[0.75]] * RANKS


def test_without_compilation_the_step_is_the_function_itself():
    strategy = ss.Strategy.mirrored("sim", replicas=2)

    def step():
        return 3

    assert strategy.compile(step) is step
    with pytest.raises(InvalidType, match="compile takes a replica function, got 3"):
        strategy.compile(3)


def a_value(x):
    return float(x[0])


def a_branch(x):
    return x if x[0] > 0 else -x


def an_index(x):
    return [x][ctx().replica_id_in_sync_group]


def a_host_copy(x):
    return np.asarray(x)


REFUSED = {
    "a value": (a_value, "known only when the program runs: .*Choose with xp.where"),
    "a branch": (a_branch, "known only when the program runs: .*Choose with xp.where"),
    "an index": (an_index, "known only when the program runs: .*Choose with xp.where"),
    "a host copy": (a_host_copy, "known only when the program runs: .*Choose with xp.where"),
    "a seed": (lambda x: ctx().seed("noise"), "asked for the seed 'noise', .*Draw it outside"),
    "a variable": (lambda x: ss.Variable(1.0), "makes a Variable, .*Make it before"),
    "a run": (lambda x: ctx().merge_call(lambda s: s.run(lambda: 0)), "runs replicas again, .*Call the function"),
}


@pytest.mark.parametrize(("step", "text"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compiled_is_told_before_anything_has_run(strategy, step, text):
    with strategy.scope():
        variable = ss.Variable(np.float32(1), aggregation=AGGREGATION.SUM)

    def writes_first(x):
        variable.assign(ctx().xp.sum(x))
        return step(x)

    with pytest.raises(CannotCompile, match=text) as raised:
        strategy.run(strategy.compile(writes_first), args=(rows(strategy, 2),))
    assert float(variable.value()) == 1
    assert any("test_xla_compile.py" in note for note in raised.value.__notes__) or step.__name__ == "<lambda>"


def test_what_is_no_call_of_run_is_refused_as_such_in_a_compiled_step(strategy):
    for wrong, text in (((5,), "run takes a function .*, got 5"), ((lambda: 0, 5), "args must be a list or tuple")):
        step = strategy.compile(lambda x, wrong=wrong: ctx().merge_call(lambda s: s.run(*wrong)))
        with pytest.raises((InvalidArgument, InvalidType), match=text):
            strategy.run(step, args=(rows(strategy, 2),))


@pytest.mark.parametrize("replicas", [1, RANKS])
def test_a_step_with_a_variable_that_replicas_share_does_what_the_function_does(replicas):
    def found(compiles):
        made = ss.Strategy.central_storage("xla", replicas=replicas)
        with made.scope():
            total = ss.Variable(np.zeros(2, np.float32), aggregation=AGGREGATION.SUM)

        def step(x):
            total.assign_add(x)
            return {"read": total.value(), "merged": ctx().merge_call(lambda s, y: s.reduce("SUM", y, None), args=(x,))}

        run = made.compile(step) if compiles else step
        for count in range(3):
            x = ss.PerReplica([np.full(2, count + rank, np.float32) for rank in range(replicas)])
            result = made.run(run, args=(x,))
        programs = len(programs_of(made))
        assert programs == (1 if compiles and replicas == 1 else 0)
        assert not compiles or repr(run).endswith(f": {programs} programs>")
        return {"total": total.numpy(), **result}

    assert_same(found(compiles=True), found(compiles=False))


def test_the_programs_own_errors_come_out_as_they_are(strategy):
    with pytest.raises(ZeroDivisionError):
        strategy.run(strategy.compile(lambda x: 1 / 0), args=(rows(strategy, 2),))
    with pytest.raises(InvalidArgument, match="bool, which has no sum"):
        strategy.run(strategy.compile(lambda x: ctx().all_reduce("SUM", x > 0)), args=(rows(strategy, 2),))


def test_what_lanes_refuse_as_well_is_told_as_they_tell_it(strategy):
    def step(x):
        return ctx().all_reduce("MEAN", ctx().xp.astype(x, "int32"))

    with pytest.raises(Unsupported) as lanes:
        strategy.run(step, args=(rows(strategy, 2),))
    with pytest.raises(Unsupported) as compiled:
        strategy.run(strategy.compile(step), args=(rows(strategy, 2),))
    assert str(compiled.value) == str(lanes.value)
    assert str(lanes.value).startswith(
        "The mean of int32 is float64, which backend 'xla' cannot hold as it was opened."
    )


def test_empty_arrays_and_scalars_come_back_in_their_forms(strategy):
    def step(x):
        xp = ctx().xp
        return ctx().all_reduce("SUM", x[:0]), xp.zeros((2, 0)), xp.sum(x), ctx().all_gather(x[:, :0], 0)

    wanted = [[(0, 3)] * RANKS, [(2, 0)] * RANKS, [()] * RANKS, [(8, 0)] * RANKS]
    found = strategy.run(strategy.compile(step), args=(rows(strategy, 2, 3),))
    assert [[one.shape for one in host(leaf)] for leaf in found] == wanted


def test_an_argument_that_cannot_be_part_of_a_program_is_told(strategy):
    with pytest.raises(CannotCompile, match=r"is no array and cannot be compared with the next call"):
        strategy.run(strategy.compile(lambda x, seen: x), args=(rows(strategy, 2), {1, 2}))


def test_variables_without_elements_go_from_run_to_run(strategy):
    with strategy.scope():
        empty = ss.Variable(np.zeros((0, 2), np.float32), aggregation=AGGREGATION.SUM)

    def step():
        empty.assign_add(np.zeros((0, 2), np.float32))
        return empty.value()

    compiled = strategy.compile(step)
    for _ in range(3):
        assert [one.shape for one in host(strategy.run(compiled))] == [(0, 2)] * RANKS


def test_a_step_receives_its_keys_in_the_order_of_each_call(strategy):
    x, y = rows(strategy, 2), rows(strategy, 3)
    step = strategy.compile(lambda nest: next(iter(nest.values())))
    for nest in ({"a": x, "b": y}, {"b": y, "a": x}):
        assert [one.shape for one in strategy.run(step, (nest,)).values] == [
            one.shape for one in next(iter(nest.values())).values
        ]


def test_a_step_that_another_strategy_compiled_runs_on_the_one_that_runs_it(strategy):
    other = ss.Strategy.mirrored("xla", replicas=2)
    step = strategy.compile(lambda: ctx().xp.ones(2) * ctx().num_replicas_in_sync)
    assert [one.tolist() for one in host(other.run(step), 2)] == [[2.0, 2.0]] * 2


def test_compiled_steps_of_several_threads_lose_no_write(strategy):
    with strategy.scope():
        variable = ss.Variable(np.float32(0), aggregation=AGGREGATION.SUM)
    x = strategy.run(lambda: ctx().xp.asarray(1.0))
    step = strategy.compile(variable.assign_add)
    strategy.run(step, (x,))

    def work(_number):
        for _ in range(40):
            strategy.run(step, (x,))

    at_once(work, range(3))
    assert variable.numpy() == RANKS * (1 + 3 * 40)


def test_one_object_of_all_replicas_is_not_summed(strategy):
    with strategy.scope():
        variable = ss.Variable(np.zeros(3, np.float32), aggregation=AGGREGATION.SUM)
    shared = np.float32([1, 2, 3])
    for step, given in ((lambda: variable.assign_add(shared), ()), (variable.assign_add, (shared,))):
        with pytest.raises(InvalidArgument, match=r"cannot be reduced with ReduceOp\.SUM"):
            strategy.run(strategy.compile(step), given)
    strategy.run(strategy.compile(lambda: variable.assign_add(np.float32([1, 2, 3]))))
    assert variable.numpy().tolist() == [RANKS, 2 * RANKS, 3 * RANKS]
