"""Programs of variables: every synchronization and aggregation, written and read in both contexts."""

import functools
from typing import Any, Final

import numpy as np
from program_catalogue import Case, eighths, per_replica, register, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)

Aggregation = ss.VariableAggregation
ON_READ = ss.VariableSynchronization.ON_READ


def variable(strategy: ss.Strategy, aggregation: ss.VariableAggregation, initial: Any = None, **options: Any) -> Any:
    """Returns a variable [2] of float32, unless told otherwise."""
    with strategy.scope():
        return ss.Variable(eighths(2, start=1) if initial is None else initial, aggregation=aggregation, **options)


def own(*shape: int, dtype: str = "float32") -> Any:
    """Returns this replica's input, on its device."""
    return replica().xp.asarray(eighths(*shape, start=replica().replica_id_in_sync_group, dtype=dtype))


def every_write(strategy: ss.Strategy, one: Any) -> list[Any]:
    """Writes in replicas in three ways and returns what each reads after each."""

    def step() -> Any:
        seen = []
        for write in (one.assign, one.assign_add, one.assign_sub):
            write(own(2) * 2.0)
            seen.append(one.value())
        return seen

    return [strategy.run(step), one.value()]


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


@program(cluster="own")
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
    return strategy.run(total.value), total.value()


@program()
def writes_between_runs_to_components(strategy: ss.Strategy) -> Any:
    mean = variable(strategy, Aggregation.MEAN, synchronization=ON_READ)
    mean.assign(per_replica(strategy, lambda rank: eighths(2, start=rank)))
    mean.assign_add([0.5, 0.5])
    before = mean.value()
    strategy.run(lambda: mean.assign_sub(own(2)) and None)
    return before, mean.value()


@program()
def a_write_of_one_value_per_replica(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.MEAN)
    one.assign(ss.Mirrored([eighths(2, start=4) for _ in strategy.extended.engine.local_devices]))
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
    return outs, seen.value(), [weights.name, bias.name, weights.trainable, seen.trainable, bias.dtype, weights.shape]


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
    strategy.run(lambda: rate.assign(0.25) and None)
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
    strategy.run(lambda: one.assign(own(2)) and None)
    return strategy.experimental_local_results(one)


@program(cluster="own")
def what_writes_return(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)
    inside = strategy.run(lambda: one.assign(own(2)) is one)
    outside = one.assign_add([0.5, 0.5])
    return inside, type(outside).__name__, strategy.experimental_local_results(outside)
