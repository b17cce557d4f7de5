"""Stacked steps of the simulator: one program for all replicas does what its tasks do, to the bit.

Clauses: P-1, P-2, P-3, P-4, P-5, P-8, P-10.
"""

import numpy as np
import pytest
from vocabulary import ctx

import simstrategy as ss
from simstrategy.errors import CannotCompile, InvalidArgument, InvalidType
from simstrategy.strategy import programs_of

RANKS = 5
AGGREGATION, SYNCHRONIZATION = ss.VariableAggregation, ss.VariableSynchronization
DTYPES = ["float16", "float32", "float64", "bfloat16", "int8", "uint16", "int32", "int64", "complex64", "complex128"]
SHAPES = [(), (1,), (3,), (7,), (2, 3), (0, 2), (4, 1, 3)]


def opened(replicas=RANKS, order="linear", **settings):
    backend = ss.backend("sim", replicas=replicas, stacked=True, order=order)
    return ss.Strategy.mirrored(backend, **settings)


def numbers(rank, shape, dtype):
    rng = np.random.default_rng(100 + rank)
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
    if dtype.startswith("complex"):
        values = values + 1j * rng.normal(size=shape)
    if "int" in dtype:
        values = np.clip(np.abs(values), 0, 100).astype("int64")
    wide = np.asarray(values)
    return wide.astype(__import__("ml_dtypes").bfloat16) if dtype == "bfloat16" else wide.astype(dtype)


def rows(shape=(2,), dtype="float32", replicas=RANKS):
    return ss.PerReplica([numbers(rank, shape, dtype) for rank in range(replicas)])


def parts(value, replicas=RANKS):
    found = [np.asarray(one) for one in getattr(value, "values", [value] * replicas)]
    return [(one.dtype, one.shape, one.tobytes()) for one in found]


def assert_same(strategy, step, *args, replicas=RANKS):
    tasks, stacked = strategy.run(step, args=args), strategy.run(strategy.compile(step), args=args)
    assert stacked.keys() == tasks.keys()
    for name, value in tasks.items():
        assert parts(stacked[name], replicas) == parts(value, replicas), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["linear", "ring", "tree"])
def test_collectives_have_the_bits_of_the_tasks_in_every_order_of_additions(order, dtype):
    def step(*given):
        found = {}
        for x in given:
            found |= {
                f"sum of {x.shape}": ctx().all_reduce("SUM", x),
                f"mean of {x.shape}": ctx().all_reduce("MEAN", x),
                f"sum of a sum of {x.shape}": ctx().all_reduce("SUM", ctx().all_reduce("SUM", x)),
                f"reduced {x.shape}": ctx().merge_call(lambda s, v: s.reduce("SUM", v, axis=None), args=(x,)),
            }
            if x.shape:
                found[f"gathered {x.shape}"] = ctx().all_gather(x, -1)
                found[f"gathered first {x.shape}"] = ctx().all_gather(x, 0)
                found[f"same {x.shape}"] = ctx().all_gather(ctx().all_reduce("SUM", x), 0)
        return found

    with np.errstate(all="ignore"):
        for replicas in (1, 2, RANKS):
            strategy = opened(replicas, order)
            assert_same(strategy, step, *[rows(shape, dtype, replicas) for shape in SHAPES], replicas=replicas)


def test_merge_functions_reduce_gather_and_broadcast_as_in_tasks():
    def step(x):
        merged = ctx().merge_call
        return {
            "rows": merged(lambda s, v: s.reduce("SUM", v, axis=0), args=(x,)),
            "mean": merged(lambda s, v: s.reduce("MEAN", v, axis=(0, 1)), args=(x,)),
            "gathered": merged(lambda s, v: s.gather(v, 0), args=(x,)),
            "broadcast": merged(lambda s: s.extended.broadcast_to(np.float32([1, 2]), None)),
            "nest": ctx().all_reduce("SUM", [x, {"a": ctx().xp.sum(x)}])[1]["a"],
            "rank": ctx().xp.multiply(x, ctx().replica_id_in_sync_group),
            "own": {"deep": [x]}["deep"][0],
        }

    assert_same(opened(), step, rows((2, 3)))


@pytest.mark.parametrize("order", ["linear", "ring"])
def test_special_values_go_through_sums_as_in_tasks(order):
    given = [[np.nan, -0.0, np.inf, 1e38], [1.0, -0.0, -np.inf, 3e38], [2.0, -0.0, 0.0, -3e38]]
    x = ss.PerReplica([np.float32(one) for one in given])

    def step(x):
        return {"sum": ctx().all_reduce("SUM", x), "one": ctx().all_reduce("SUM", x[:1]), "max": ctx().xp.max(x)}

    with np.errstate(all="ignore"):
        assert_same(opened(3, order), step, x, replicas=3)


def test_a_large_sum_of_products_is_that_of_the_tasks():
    def step(x, y):
        xp = ctx().xp
        product = xp.matmul(xp.permute_dims(x, (1, 0)), y)
        once = xp.matmul(xp.permute_dims(ctx().all_reduce("SUM", x), (1, 0)), ctx().all_reduce("SUM", y))
        kept = xp.matmul(xp.permute_dims(y, (1, 0)), x)
        return {
            "sum": ctx().all_reduce("SUM", product),
            "once": ctx().all_reduce("SUM", once),
            "kept": ctx().all_reduce("SUM", kept) + kept[0],
            "mixed": ctx().all_reduce("MEAN", xp.matmul(xp.permute_dims(x, (1, 0)), xp.astype(y, "float64"))),
        }

    assert_same(opened(), step, rows((6, 130)), rows((6, 140)))


def variables_of(strategy):
    kinds = {
        "sum": {"aggregation": AGGREGATION.SUM},
        "mean": {"aggregation": AGGREGATION.MEAN},
        "first": {"aggregation": AGGREGATION.ONLY_FIRST_REPLICA},
        "total": {"aggregation": AGGREGATION.SUM, "synchronization": SYNCHRONIZATION.ON_READ},
        "own": {"aggregation": AGGREGATION.MEAN, "synchronization": SYNCHRONIZATION.ON_READ},
        "counter": {"aggregation": AGGREGATION.SUM, "dtype": "int64"},
    }
    with strategy.scope():
        return {
            name: ss.Variable([8, 16] if name == "counter" else np.float32([8, 16]), **one)
            for name, one in kinds.items()
        }


@pytest.mark.parametrize("order", ["linear", "tree"])
def test_variables_are_read_written_and_updated_as_by_tasks(order):
    def found(compiles):
        strategy = opened(order=order)
        made = variables_of(strategy)

        def step_down(merged, gradients):
            total = merged.extended.reduce_to("SUM", gradients, made["mean"])
            return merged.extended.update(made["mean"], lambda one, more: one.assign_sub(more), args=(total,))

        def step(x, rate):
            before = made["sum"].value()
            made["sum"].assign_sub(x * rate)
            made["mean"].assign_add(x)
            made["first"].assign(x)
            made["total"].assign_add(x * made["mean"].read_value())
            made["own"].assign(x + made["own"].value())
            made["counter"].assign_add(ctx().xp.astype(x > 0, "int64"))
            ctx().merge_call(step_down, args=(x,))
            return {"before": before, "after": made["sum"].value(), "own": made["own"].value()}

        run, seen = strategy.compile(step) if compiles else step, []
        for number in range(4):
            result = strategy.run(run, args=(rows(), 0.5))
            seen.append({name: parts(one) for name, one in result.items()})
            if number == 1:  # written in between, outside of the step and by tasks
                made["sum"].assign([1.0, 2.0])
                strategy.run(made["own"].assign_add, args=(rows(),))
        assert len(programs_of(strategy)) == compiles
        return seen, {name: parts(ss.PerReplica(one.components)) for name, one in made.items()}

    assert found(compiles=True) == found(compiles=False)


def test_a_variable_whose_components_differ_is_read_by_each_replica():
    strategy = opened()
    with strategy.scope():
        own = ss.Variable(np.float32(0), synchronization=SYNCHRONIZATION.ON_READ, aggregation=AGGREGATION.SUM)
        weight = ss.Variable(np.float32(2), aggregation=AGGREGATION.SUM)

    def step(x):
        own.assign_add(x * weight.value())
        weight.assign_add(own.value())

    compiled = strategy.compile(step)
    for number in range(3):  # first all components are one array, later each is its own
        strategy.run(compiled, args=(ss.PerReplica([np.float32(rank + number) for rank in range(RANKS)]),))
    totals, weight_now = [0.0] * RANKS, 2.0
    for number in range(3):
        totals = [total + (rank + number) * weight_now for rank, total in enumerate(totals)]
        weight_now += sum(totals)
    assert [float(one) for one in own.components] == totals
    assert [float(one) for one in weight.components] == [weight_now] * RANKS


def test_a_step_is_recorded_once_for_arguments_of_one_form():
    strategy, calls = opened(), []

    def step(x, rate):
        calls.append(x.shape)
        return ctx().all_reduce("SUM", x) * rate

    compiled = strategy.compile(step)
    for shape in ((2,), (3,), (2,), (3,), (2,)):
        x = rows(shape)
        wanted = strategy.run(lambda x: ctx().all_reduce("SUM", x) * 2.0, args=(x,))
        assert parts(strategy.run(compiled, args=(x, 2.0))) == parts(wanted)
    once = len(calls)
    assert {*calls} == {(2,), (3,)}
    strategy.run(compiled, args=(rows((2,)), 4.0))
    assert len(calls) > once
    assert repr(compiled).endswith(": 3 programs>")


def test_results_are_arguments_of_the_next_run_and_nothing_writes_to_them():
    strategy = opened()
    compiled = strategy.compile(lambda x: {"own": x + 1, "all": ctx().all_reduce("SUM", x)})
    x = first = rows()
    for number in range(3):
        found = strategy.run(compiled, args=(x,))
        assert parts(found["own"]) == parts(ss.PerReplica([one + np.float32(1) for one in x.values])), number
        with pytest.raises(InvalidArgument, match="read-only"):
            found["own"].values[0][0] = 5
        with pytest.raises(InvalidArgument, match="read-only"):
            found["all"].values[1][0] = 5
        x = found["own"]
    assert parts(first) == parts(rows())


def test_an_argument_that_the_program_writes_to_is_read_anew_in_each_run():
    strategy = opened()
    x = strategy.run(lambda: ctx().xp.zeros((2,)))  # arrays of the devices, which tasks may write to
    compiled = strategy.compile(lambda x: x + 1)
    for number in range(3):
        x.values[1][0] = number
        assert [float(one[0]) for one in strategy.run(compiled, args=(x,)).values] == [1, number + 1, 1, 1, 1]
    same = np.zeros(2, np.float32)
    for number in range(3):
        same[0] = number
        assert [float(one[0]) for one in strategy.run(compiled, args=(same,)).values] == [number + 1] * RANKS


def test_unequal_shapes_run_as_tasks_and_are_not_padded():
    strategy, seen = opened(), []

    def step(x):
        seen.append(x.shape)
        return ctx().xp.mean(x)

    uneven = ss.PerReplica([np.ones(rank + 1, np.float32) * (rank + 1) for rank in range(RANKS)])
    found = strategy.run(strategy.compile(step), args=(uneven,))
    assert [float(one) for one in found.values] == [1, 2, 3, 4, 5]
    assert sorted(seen) == [(1,), (2,), (3,), (4,), (5,)]


def test_a_stacked_step_is_one_event_of_the_trace():
    trace = ss.trace.Trace()
    strategy = opened(trace=trace)
    strategy.run(strategy.compile(lambda x: ctx().all_reduce("SUM", x)), args=(rows(),))
    (event,) = trace.events()
    assert (event.kind, event.shapes, event.dtypes) == ("compiled", ((2,),), ("float32",))


def test_a_simulator_that_is_not_opened_so_runs_the_step_itself():
    strategy = ss.Strategy.mirrored("sim", replicas=2)

    def step():
        return 3

    assert strategy.compile(step) is step


REFUSED = {
    "a value": lambda x: float(x[0]),
    "a branch": lambda x: x if x[0] > 0 else -x,
    "an index": lambda x: [x][ctx().replica_id_in_sync_group],
    "a host copy": np.asarray,
    "a function of NumPy": np.exp,
    "an item": lambda x: x[0].item(),
    "a list": lambda x: x.tolist(),
    "a range": lambda x: [*range(ctx().replica_id_in_sync_group)],
    "a key": lambda x: {ctx().replica_id_in_sync_group: x},
    "a mask": lambda x: x[x > 0],
    "a size": lambda x: ctx().xp.zeros((ctx().replica_id_in_sync_group,)),
    "a size of a number": lambda x: ctx().xp.full((ctx().replica_id_in_sync_group,), 1.0),
    "another shape": lambda x: x.reshape(ctx().replica_id_in_sync_group, 2),
    "an axis": lambda x: ctx().xp.sum(x, axis=ctx().replica_id_in_sync_group),
    "an axis of a method": lambda x: x.sum(axis=ctx().replica_id_in_sync_group),
    "a slice": lambda x: x[: ctx().replica_id_in_sync_group],
    "another function of NumPy": np.sum,
    "a sum by NumPy": lambda x: np.add(x, x),
    "repeats": lambda x: ctx().xp.repeat(x, ctx().xp.astype(x, "int32")),
    "a text": lambda x: f"{x[0]:.3f}",
    "a whole text": str,
    "elements written": lambda x: x.__setitem__(0, 1.0),
    "a seed": lambda x: ctx().seed("noise"),
    "a variable": lambda x: ss.Variable(1.0),
    "a run": lambda x: ctx().merge_call(lambda s: s.run(lambda: 0)),
    "a comparison": lambda x: ctx().require_equal(x),
}


@pytest.mark.parametrize("step", REFUSED.values(), ids=REFUSED)
def test_what_has_no_value_is_refused_before_anything_has_run(step):
    strategy = opened()
    with strategy.scope():
        variable = ss.Variable(np.float32(1), aggregation=AGGREGATION.SUM)

    def writes_first(x):
        variable.assign(ctx().xp.sum(x))
        return step(x)

    with pytest.raises(CannotCompile) as raised:
        strategy.run(strategy.compile(writes_first), args=(rows(),))
    assert float(variable.value()) == 1
    notes = "".join(getattr(raised.value, "__notes__", ()))
    assert "In replica 0: CannotCompile raised at test_stacked_steps.py:" in notes or "test_stacked_steps.py:" in str(
        raised.value
    )


def test_the_refusal_names_the_users_line_and_what_to_do():
    strategy = opened()
    with pytest.raises(
        CannotCompile, match=r"bool\(\) of bool\[\]\. Choose with xp\.where, .*without compiling"
    ) as raised:
        strategy.run(strategy.compile(REFUSED["a branch"]), args=(rows(),))
    assert any("test_stacked_steps.py:" in note for note in raised.value.__notes__)


def test_a_captured_per_replica_value_is_refused_and_not_taken_for_replica_0s():
    strategy = opened(semantics=ss.Semantics.TF2)
    captured = rows()
    with pytest.raises(CannotCompile, match=r"captured.* Pass it as an argument"):
        strategy.run(strategy.compile(lambda x: ctx().xp.add(x, captured)), args=(rows(),))


def test_a_captured_array_is_part_of_the_program():
    strategy = opened()
    constant, array = np.float32([1, 2]), strategy.xp.asarray([3.0, 4.0])
    assert_same(
        strategy, lambda x: {"sum": x * constant + array, "left": constant - x, "made": ctx().xp.add(array, x)}, rows()
    )


def test_errors_of_the_program_are_those_of_the_tasks_and_nothing_is_written():
    strategy = opened()
    with strategy.scope():
        variable = ss.Variable(np.float32([1, 2]), aggregation=AGGREGATION.SUM)

    def fails_on_values(x, where):
        variable.assign_add(x)
        return ctx().xp.take(x, where, axis=0)

    where = ss.PerReplica([np.int32([9 * (rank == 3)]) for rank in range(RANKS)])
    with pytest.raises(InvalidArgument) as stacked:
        strategy.run(strategy.compile(fails_on_values), args=(rows(), where))
    assert variable.numpy().tolist() == [1, 2]
    with pytest.raises(InvalidArgument) as tasks:
        strategy.run(lambda x, where: ctx().xp.take(x, where, axis=0), args=(rows(), where))
    assert str(stacked.value) == str(tasks.value)
    wrong = {
        "shapes": lambda x: x + ctx().xp.ones((3,)),
        "dtype": lambda x: ctx().all_reduce("SUM", x > 0),
        "own": lambda x: 1 / 0,
    }
    for step in wrong.values():
        with pytest.raises(Exception) as one:  # noqa: PT011 - the same one as of tasks
            strategy.run(step, args=(rows(),))
        with pytest.raises(type(one.value)) as other:
            strategy.run(strategy.compile(step), args=(rows(),))
        assert str(other.value) == str(one.value)


def test_an_array_that_has_left_the_step_has_no_value():
    strategy, kept = opened(), []
    strategy.run(strategy.compile(lambda x: kept.append(x + 1)), args=(rows(),))
    with pytest.raises(CannotCompile, match="known only when the program runs"):
        float(kept[0][0])
    assert repr(kept[0]) == "<float32[2] of a compiled step, without a value>"


def test_an_argument_that_cannot_be_part_of_a_program_is_refused():
    strategy = opened()
    with pytest.raises(CannotCompile, match=r"is no array and cannot be compared with the next call"):
        strategy.run(strategy.compile(lambda x, seen: x), args=(rows(), {1, 2}))
    with pytest.raises(InvalidType, match="compile takes a replica function, got 3"):
        strategy.compile(3)


def test_central_storage_runs_as_tasks_where_replicas_share_a_variable():
    backend = ss.backend("sim", replicas=2, stacked=True)
    strategy = ss.Strategy.central_storage(backend)
    with strategy.scope():
        total = ss.Variable(np.zeros(2, np.float32), aggregation=AGGREGATION.SUM)

    def step(x):
        total.assign_add(x)
        return total.value()

    found = strategy.run(strategy.compile(step), args=(ss.PerReplica([np.ones(2, np.float32) for _ in range(2)]),))
    assert [one.tolist() for one in found.values] == [[2, 2], [2, 2]]
    assert programs_of(strategy) == []


def test_many_replicas_are_one_program():
    strategy = opened(2000)
    step = strategy.compile(lambda: ctx().all_reduce("SUM", ctx().replica_id_in_sync_group))
    assert {int(one) for one in strategy.run(step).values} == {1999000}


def test_components_of_values_and_variables_are_refused():
    strategy = opened()
    with strategy.scope():
        variable = ss.Variable(np.float32(1), aggregation=AGGREGATION.SUM)
    steps = {
        "local results": lambda x: ctx().merge_call(lambda s, y: s.experimental_local_results(y)[0], args=(x,)),
        "the components of a variable": lambda x: x * variable.components[0],
        "local results of one": lambda x: strategy.experimental_local_results(variable)[0] * x,
    }
    for what, step in steps.items():
        with pytest.raises(CannotCompile, match=f"takes {what.removesuffix(' of one')}, of which each replica has one"):
            strategy.run(strategy.compile(step), args=(rows(),))


def test_a_variable_is_no_argument_of_array_functions_as_in_tasks():
    strategy = opened()
    with strategy.scope():
        variable = ss.Variable(np.float32(1), aggregation=AGGREGATION.SUM)
    for run in (strategy.compile, lambda step: step):
        with pytest.raises(InvalidType, match=r"xp\.asarray got a Variable"):
            strategy.run(run(lambda x: ctx().xp.add(x, variable)), args=(rows(),))


def test_an_interrupt_between_two_writes_leaves_every_variable_as_it_was():
    class Interrupting:
        def __init__(self, cell):
            self.cell, self.left = cell, 1

        def read(self):
            return self.cell.read()

        def write(self, value):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            self.cell.write(value)

    strategy = opened()
    with strategy.scope():
        first, last = (ss.Variable(np.float32(n), aggregation=AGGREGATION.SUM) for n in (1, 2))

    def step(x):
        first.assign_add(ctx().xp.sum(x))
        last.assign_add(ctx().xp.sum(x))

    compiled = strategy.compile(step)
    strategy.run(compiled, args=(rows(),))
    before = [first.numpy(), last.numpy()]
    (program,) = programs_of(strategy)
    cells = (*program.read_cells[1][:-1], Interrupting(program.read_cells[1][-1]))
    with pytest.raises(KeyboardInterrupt):
        program.program([rows_on(strategy)], (program.read_cells[0], cells), (program.written_cells[0], cells))
    assert [first.numpy(), last.numpy()] == before
    assert {float(one) for one in (*first.components, *last.components)} == {*map(float, before)}


def rows_on(strategy):
    return strategy.run(strategy.xp.asarray, args=(rows(),)).values


@pytest.mark.parametrize(
    "use", [lambda x, c: x + c, lambda x, c: [c], lambda x, c: ctx().all_reduce("SUM", c), lambda x, c: ctx().xp.sum(c)]
)
def test_an_array_that_is_kept_from_an_earlier_call_is_refused(use):
    def caching(x):
        if "c" not in cache:
            cache["c"] = ctx().xp.asarray(np.float32([1, 2]))
        return use(x, cache["c"])

    cache, strategy = {}, opened()
    with pytest.raises(CannotCompile, match="kept from an earlier call of the step"):
        strategy.run(strategy.compile(caching), args=(rows(),))


def test_a_captured_array_keeps_its_layout():
    captured = np.asfortranarray(numbers(9, (40, 70), "float32"))
    assert_same(opened(), lambda x: {"sum": x * ctx().xp.sum(captured)}, rows(()))
