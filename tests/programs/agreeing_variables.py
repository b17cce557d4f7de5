"""Programs of variables: every synchronization and aggregation, written and read in both contexts."""

import functools
from contextlib import closing
from typing import Any, Final

import numpy as np
from program_catalogue import Case, eighths, own, per_replica, register, replica, variable

import simstrategy as ss
from simstrategy.strategy import group_of

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)

Aggregation = ss.VariableAggregation
ON_READ = ss.VariableSynchronization.ON_READ


def across(strategy: ss.Strategy, one: ss.Variable) -> Any:
    """Reads a variable in the cross-replica context."""
    with strategy.scope():
        return one.value()


def every_write(strategy: ss.Strategy, one: Any) -> list[Any]:
    """Writes in replicas in three ways and returns what each reads after each."""

    def step() -> Any:
        seen = []
        for write in (one.assign, one.assign_add, one.assign_sub):
            write(own(2) * 2.0)
            seen.append(one.value())
        return seen

    return [strategy.run(step), across(strategy, one)]


@program()
def writes_that_are_summed(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.SUM))


@program()
def writes_that_are_averaged(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.MEAN))


@program()
def writes_of_which_the_first_counts(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.ONLY_FIRST_REPLICA))


@program()
def components_that_are_summed_when_read(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.SUM, synchronization=ON_READ))


@program()
def components_that_are_averaged_when_read(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.MEAN, synchronization=ON_READ))


@program()
def components_of_which_the_first_is_read(strategy: ss.Strategy) -> Any:
    return every_write(strategy, variable(strategy, Aggregation.ONLY_FIRST_REPLICA, synchronization=ON_READ))


@program()
def components_that_are_read_in_replicas_alone(strategy: ss.Strategy) -> Any:
    count = variable(strategy, Aggregation.NONE, np.zeros(2, np.float32), synchronization=ON_READ)

    def step() -> Any:
        count.assign_add(own(2))
        return count.value()

    return [strategy.run(step) for _ in range(3)]


@program()
def writes_between_runs(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)
    plain = variable(strategy, Aggregation.NONE)
    for two in (one, plain):
        two.assign(eighths(2, start=3))
        two.assign_add([0.5, 0.25])
        two.assign_sub(strategy.xp.asarray([0.125, 0.25]))
    return one.value(), plain.read_value(), strategy.run(lambda: one.value() + plain.value())


@program()
def a_total_is_shared_out_when_assigned(strategy: ss.Strategy) -> Any:
    total = variable(strategy, Aggregation.SUM, synchronization=ON_READ)
    total.assign([3.0, 1.5])
    return strategy.run(total.value), across(strategy, total), total.read_value()


@program()
def writes_between_runs_to_components(strategy: ss.Strategy) -> Any:
    mean = variable(strategy, Aggregation.MEAN, synchronization=ON_READ)
    mean.assign(eighths(2, start=3))
    mean.assign_add([0.5, 0.5])
    before = across(strategy, mean)
    strategy.run(lambda: mean.assign_sub(own(2)))
    return before, across(strategy, mean)


@program()
def a_write_of_one_value_per_replica(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.MEAN)
    one.assign(ss.Mirrored([eighths(2, start=4) for _ in group_of(strategy).local_devices]))
    return one.value(), strategy.run(one.value)


@program()
def a_value_that_was_read_does_not_change(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)

    def step() -> Any:
        before = one.value()
        one.assign_add(own(2))
        middle = one.read_value()
        one.assign(own(2))
        return before, middle, one.value()

    return strategy.run(step)


@program()
def several_variables_in_one_step(strategy: ss.Strategy) -> Any:
    weights = variable(strategy, Aggregation.SUM, eighths(2, 2), name="weights")
    bias = variable(strategy, Aggregation.MEAN, name="bias")
    seen = variable(strategy, Aggregation.SUM, np.asarray(0, np.int32), synchronization=ON_READ, name="seen")

    def step() -> Any:
        xp = replica().xp
        out = xp.matmul(own(1, 2), weights.value()) + bias.value()
        weights.assign_sub(xp.matmul(xp.permute_dims(own(1, 2), (1, 0)), out))
        bias.assign_add(xp.reshape(out, (2,)))
        seen.assign_add(1)
        return out

    outs = [strategy.run(step) for _ in range(2)]
    told = [weights.name, bias.name, weights.trainable, seen.trainable, bias.dtype, weights.shape]
    return outs, across(strategy, seen), told


@program()
def integer_variables(strategy: ss.Strategy) -> Any:
    count = variable(strategy, Aggregation.SUM, np.asarray([1, 2], np.int32))

    def step() -> Any:
        count.assign_add(own(2, dtype="int32"))
        count.assign_sub(replica().xp.asarray([1, 1]))
        return count.value()

    return strategy.run(step), count.numpy()


@program(wide=True)
def wide_variables(strategy: ss.Strategy) -> Any:
    fine = variable(strategy, Aggregation.MEAN, [1.0, 2.0], dtype="float64")
    large = variable(strategy, Aggregation.SUM, np.asarray(2**40, np.int64))

    def step() -> Any:
        fine.assign_add(own(2, dtype="float64"))
        large.assign_add(replica().xp.asarray(np.asarray(2**33, np.int64)))
        return fine.value(), large.value()

    return strategy.run(step), fine.value(), large.value(), fine.dtype


@program()
def variables_made_of_everything(strategy: ss.Strategy) -> Any:
    first = variable(strategy, Aggregation.NONE, [[1, 2], [3, 4]])
    second = variable(strategy, Aggregation.NONE, first)
    third = variable(strategy, Aggregation.NONE, strategy.xp.asarray(eighths(3)), dtype="float16")
    fourth = variable(strategy, Aggregation.NONE, 0.5, name="half")
    first.assign(second)
    return [(one.value(), one.dtype, one.shape, one.name) for one in (first, second, third, fourth)]


@program()
def one_number_from_all_replicas_is_their_mean(strategy: ss.Strategy) -> Any:
    rate = variable(strategy, Aggregation.MEAN, np.asarray(1.0, np.float32))
    strategy.run(lambda: rate.assign(0.25))
    return rate.value(), strategy.run(rate.value)


@program()
def writes_of_host_values_in_replicas(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)

    def step(value: Any) -> Any:
        one.assign(value)
        return one.value()

    return strategy.run(step, args=(per_replica(strategy, lambda rank: eighths(2, start=rank)),))


@program()
def variables_inside_merge_calls(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)

    def merge(merging: ss.Strategy, value: Any) -> Any:
        one.assign_add(merging.reduce("SUM", value))
        return one.value()

    def step() -> Any:
        merged = replica().merge_call(merge, args=(own(2),))
        one.assign_sub(own(2))
        return merged, one.value()

    return strategy.run(step), one.value()


@program()
def a_variable_is_written_after_a_collective(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.MEAN)

    def step() -> Any:
        ctx = replica()
        mean = ctx.all_reduce("MEAN", own(2))
        one.assign(mean)
        return ctx.all_reduce("SUM", one.value() - own(2))

    return strategy.run(step)


@program(cluster="own")
def local_results_of_a_variable(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM, synchronization=ON_READ)
    strategy.run(lambda: one.assign(own(2)))
    return strategy.experimental_local_results(one)


@program()
def what_writes_return(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)
    local = variable(strategy, Aggregation.SUM, synchronization=ON_READ)
    inside = strategy.run(lambda: [one.assign(own(2)), local.assign_add(own(2))])
    nothing = strategy.run(lambda: one.assign_add(own(2), read_value=False))
    outside = one.assign_add([0.5, 0.5])
    return inside, nothing, type(outside).__name__, outside, local.assign([1.0, 2.0])


# Variables of other kinds, and made in other places.


def another(strategy: ss.Strategy, **settings: Any) -> Any:
    """Returns a context manager of one more strategy on the same backend."""
    return closing(ss.Strategy.multi_worker(group_of(strategy).backend, **settings))


def spans_processes(strategy: ss.Strategy) -> bool:
    return bool(group_of(strategy).coordinator.processes > 1)


@program(cluster="own")
def a_variable_of_no_strategy(strategy: ss.Strategy) -> Any:
    one = ss.Variable(eighths(2), aggregation=Aggregation.SUM, name="nobodys")

    def step() -> Any:
        one.assign_add(own(2), read_value=False)
        return replica().all_reduce("SUM", one.value() * 0.0 + own(2))

    before = strategy.run(lambda: one.value() * 2.0)
    reduced = strategy.run(step)
    with strategy.scope():
        added = one.assign_add(eighths(2, start=5))
    return before, reduced, added, one.numpy(), strategy.run(one.read_value)


@program(cluster="own")
def central_storage_has_one_component(strategy: ss.Strategy) -> Any:
    if spans_processes(strategy):
        return "for one process alone"
    with closing(ss.Strategy.central_storage(group_of(strategy).backend)) as central:
        summed, mean, first = [
            variable(central, aggregation, synchronization=ON_READ)
            for aggregation in (Aggregation.SUM, Aggregation.MEAN, Aggregation.ONLY_FIRST_REPLICA)
        ]

        def step() -> Any:
            return [(one.assign(own(2)), one.assign_add(own(2)), one.value()) for one in (summed, mean, first)]

        inside = central.run(step)
        outside = [one.assign_sub(eighths(2, start=2)) for one in (summed, mean, first)]
        return inside, outside, [len(one.components) for one in (summed, mean, first)]


@program()
def variables_that_replicas_make(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        rank = replica().replica_id_in_sync_group
        weights = ss.Variable(own(2), aggregation=Aggregation.SUM, name=f"weights_{rank}")
        seen = ss.Variable(lambda: own(2), aggregation=Aggregation.MEAN, synchronization=ON_READ, name="seen")
        weights.assign_add(own(2))
        seen.assign_add(own(2))
        return weights, seen, weights.value(), seen.value()

    weights, seen, inside, local = strategy.run(step)
    later = strategy.run(lambda: weights.assign_sub(own(2)))
    return [weights.name, seen.name, weights.dtype, weights.shape], inside, local, later, across(strategy, seen)


@program()
def variables_that_replicas_make_unlike(strategy: ss.Strategy) -> Any:
    def texts(**different: Any) -> str:
        def step() -> Any:
            last = replica().replica_id_in_sync_group == replica().num_replicas_in_sync - 1
            settings: dict[str, Any] = {"name": "w", **(different if last else {})}
            return ss.Variable(settings.pop("initial_value", 0.5), **settings)

        try:
            strategy.run(step)
        except ss.errors.ReplicasDisagree as error:
            return str(error)
        return "alike"

    return [
        texts(name="other"),
        texts(name="w_1"),
        texts(dtype="float16"),
        texts(initial_value=[0.5]),
        texts(trainable=False),
        texts(aggregation=Aggregation.SUM),
        texts(synchronization=ON_READ),
    ]


@program()
def variables_as_values(strategy: ss.Strategy) -> Any:
    source = variable(strategy, Aggregation.SUM, synchronization=ON_READ)
    mirrored = variable(strategy, Aggregation.NONE, eighths(2, start=7))
    plain = ss.Variable(eighths(2, start=6))
    strategy.run(lambda: source.assign(own(2)))
    total, mean = [variable(strategy, aggregation) for aggregation in (Aggregation.SUM, Aggregation.MEAN)]
    local = variable(strategy, Aggregation.MEAN, synchronization=ON_READ)

    def step() -> Any:
        return [total.assign(source), mean.assign(mirrored), mean.assign_add(plain), local.assign(source)]

    inside = strategy.run(step)
    with strategy.scope():
        local.assign(source)
        mean.assign(mirrored)
        total.assign_sub(plain)
        return inside, local.value(), mean.value(), total.value()


@program()
def variables_of_another_strategy(strategy: ss.Strategy) -> Any:
    mine = variable(strategy, Aggregation.SUM, name="mine")
    local = variable(strategy, Aggregation.SUM, synchronization=ON_READ, name="local")
    with another(strategy) as other:
        theirs = variable(other, Aggregation.SUM, name="theirs")

        def step() -> Any:
            theirs.assign_add(mine.value() + own(2))
            refused = []
            for call in (lambda: mine.assign(own(2)), local.value, lambda: local.assign_add(own(2))):
                try:
                    call()
                except ss.errors.ContextError as error:
                    refused.append(str(error).partition(" of <")[0])
            return theirs.value(), mine.read_value(), refused

        return other.run(step), strategy.run(theirs.value), mine.numpy()


@program()
def semantics_of_2_x(strategy: ss.Strategy) -> Any:
    with another(strategy, semantics=ss.Semantics.TF2) as newer:
        local = variable(newer, Aggregation.NONE, name="local")
        total = variable(newer, Aggregation.SUM, np.asarray([0, 0], np.int32), synchronization=ON_READ, name="total")
        returned = total.assign(np.asarray([7, -7], np.int32))
        own_writes = newer.run(lambda: local.assign(own(2) * 0.0 + 0.5))
        return returned, total.value(), newer.run(total.value), own_writes, local.value()


@program(cluster="own")
def writes_that_leave_components_unequal(strategy: ss.Strategy) -> Any:
    with another(strategy, semantics=ss.Semantics.TF2) as newer:
        one = variable(newer, Aggregation.NONE, name="one")
        one.assign(per_replica(newer, lambda rank: eighths(2, start=rank)))
        for _ in range(2):
            newer.run(lambda: one.assign_add(own(2)))
        seen = newer.run(one.value)
    with another(strategy, semantics=ss.Semantics.TF2, checks="strict") as strict:
        two = variable(strict, Aggregation.NONE, name="two")
        texts = []
        values = per_replica(strict, lambda rank: eighths(2, start=rank))
        for inside in (False, True):
            try:
                strict.run(lambda: two.assign(own(2))) if inside else two.assign(values)
            except ss.errors.ReplicasDisagree as error:
                texts.append(str(error))
        return seen, texts, strict.run(two.value)


@program()
def variables_are_saved_and_restored(strategy: ss.Strategy) -> Any:
    weights = variable(strategy, Aggregation.SUM, eighths(2, 2), name="weights")
    total = variable(strategy, Aggregation.SUM, synchronization=ON_READ, name="total")
    count = variable(strategy, Aggregation.SUM, np.asarray(0, np.int32), synchronization=ON_READ, name="count")
    mean = variable(strategy, Aggregation.MEAN, synchronization=ON_READ, name="mean")
    first = variable(strategy, Aggregation.ONLY_FIRST_REPLICA, synchronization=ON_READ, name="first")
    kept = [weights, total, count, mean, first]

    def step() -> Any:
        weights.assign_add(own(2, 2))
        for one in (total, mean, first):
            one.assign(own(2) * 2.0)
        count.assign_add(np.asarray(3, np.int32))

    strategy.run(step)
    saved = strategy.save(kept)
    strategy.run(step)
    strategy.restore(kept, saved)
    refused = ""
    try:
        strategy.restore([weights, total], {"weights": eighths(2), "extra": eighths(2)})
    except ss.errors.InvalidArgument as error:
        refused = str(error)
    again = strategy.save(kept)
    # Shares of a total are as many as there are replicas; together they are what was saved.
    return saved, again["weights"], again["count"], again["mean"], again["first"], refused
