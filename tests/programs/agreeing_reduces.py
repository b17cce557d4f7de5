"""Programs of strategy.reduce and of distributed datasets: axes, partial and empty parts, small batches."""

import functools
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from program_catalogue import Case, eighths, per_replica, register, replica

import simstrategy as ss
from simstrategy.errors import OutOfRangeError
from simstrategy.strategy import group_of

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)


def both(strategy: ss.Strategy, value: Any, axis: Any = None) -> list[Any]:
    """Returns the sum and the mean."""
    return [strategy.reduce(op, value, axis=axis) for op in ss.ReduceOp]


@program()
def reduce_without_an_axis(strategy: ss.Strategy) -> Any:
    value = strategy.run(lambda: replica().xp.asarray(eighths(2, 2, start=replica().replica_id_in_sync_group)))
    return both(strategy, value)


@program()
def reduce_of_host_values(strategy: ss.Strategy) -> Any:
    arrays = per_replica(strategy, lambda rank: eighths(3, start=rank))
    numbers = per_replica(strategy, lambda rank: rank / 8)
    return both(strategy, arrays), both(strategy, numbers), both(strategy, arrays, axis=0)


@program()
def reduce_of_integers(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(3, start=rank, dtype="int32"))
    small = per_replica(strategy, lambda rank: eighths(3, start=rank, dtype="int8"))
    return [strategy.reduce("SUM", value), strategy.reduce("SUM", value, axis=0), both(strategy, small, axis=0)]


@program(wide=True)
def reduce_mean_of_integers_is_float64(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(3, start=rank, dtype="int32"))
    wide = per_replica(strategy, lambda rank: eighths(rank, start=rank, dtype="int64"))
    return [strategy.reduce("MEAN", value), both(strategy, value, axis=0), both(strategy, wide, axis=0)]


@program(wide=True)
def reduce_of_float64(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(rank + 1, 2, start=rank, dtype="float64"))
    return both(strategy, value, axis=0), both(strategy, value, axis=(0, 1))


@program()
def reduce_with_one_axis_of_any_kind(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(2, 3, 4, start=rank))
    return [both(strategy, value, axis=axis) for axis in (0, 1, 2, -1, -3)]


@program()
def reduce_with_several_axes(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(2, 3, 4, start=rank))
    return [both(strategy, value, axis=axis) for axis in ((0, 1), (2, 0), (-1, 0, 1), (1,), ())]


@program()
def reduce_of_parts_of_different_sizes(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(rank + 1, 2, start=rank))
    columns = per_replica(strategy, lambda rank: eighths(2, rank + 1, start=rank))
    return both(strategy, value, axis=0), both(strategy, columns, axis=-1), both(strategy, columns, axis=(0, 1))


@program()
def reduce_where_some_parts_are_empty(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(rank % 2 * 3, 2, start=rank))
    return both(strategy, value, axis=0), both(strategy, value, axis=(0, 1))


@program()
def reduce_where_all_parts_are_empty(strategy: ss.Strategy) -> Any:
    value = per_replica(strategy, lambda rank: eighths(0, 2))
    return both(strategy, value, axis=0), both(strategy, value, axis=1), both(strategy, value)


@program()
def reduce_of_a_nest(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        xp, rank = replica().xp, replica().replica_id_in_sync_group
        return {"loss": xp.asarray(eighths(rank + 1)), "deep": [(xp.asarray(eighths(2, start=rank)),)]}

    return both(strategy, strategy.run(step), axis=0)


@program()
def reduce_of_a_value_that_is_no_distributed_one(strategy: ss.Strategy) -> Any:
    return strategy.reduce("MEAN", 2.5), strategy.reduce("MEAN", eighths(3))


@program(cluster="own")
def reduce_of_a_plain_array_with_an_axis(strategy: ss.Strategy) -> Any:
    return both(strategy, eighths(4), axis=0), both(strategy, eighths(2, 3), axis=(1, 0))


@program()
def reduce_of_mirrored_values(strategy: ss.Strategy) -> Any:
    value = ss.Mirrored([eighths(2) for _ in group_of(strategy).local_devices])
    return strategy.reduce("MEAN", value), both(strategy, value, axis=0)


@program()
def reduce_of_reduced_values(strategy: ss.Strategy) -> Any:
    def step(offset: Any) -> Any:
        xp = replica().xp
        return xp.add(xp.asarray(eighths(2, start=replica().replica_id_in_sync_group)), offset)

    first = strategy.reduce("SUM", strategy.run(step, args=(0.5,)))
    return first, strategy.reduce("SUM", strategy.run(step, args=(first,)), axis=0)


@program()
def reduce_with_axes_inside_a_merge_call(strategy: ss.Strategy) -> Any:
    def merge(merging: ss.Strategy, value: Any) -> Any:
        return both(merging, value, axis=0), merging.reduce("MEAN", value, axis=(0, 1))

    def step() -> Any:
        rank = replica().replica_id_in_sync_group
        return replica().merge_call(merge, args=(replica().xp.asarray(eighths(rank + 1, 2, start=rank)),))

    return strategy.run(step)


def steps(strategy: ss.Strategy, dataset: Any) -> Iterator[Any]:
    """Yields each distributed batch, its sum and its mean."""
    for batch in strategy.experimental_distribute_dataset(dataset):
        yield batch, both(strategy, batch, axis=0)


@program(cluster="own")
def dataset_with_a_partial_last_batch(strategy: ss.Strategy) -> Any:
    return list(steps(strategy, ss.data.Dataset.from_tensor_slices(eighths(11, 2)).batch(4)))


@program(cluster="own")
def dataset_of_batches_smaller_than_the_replicas(strategy: ss.Strategy) -> Any:
    return list(steps(strategy, ss.data.Dataset.from_tensor_slices(eighths(5)).batch(1)))


@program(cluster="own")
def dataset_without_the_remainder(strategy: ss.Strategy) -> Any:
    return list(steps(strategy, ss.data.Dataset.from_tensor_slices(eighths(8)).batch(3, drop_remainder=True)))


@program(cluster="own")
def dataset_of_nests(strategy: ss.Strategy) -> Any:
    columns = {"x": eighths(7, 2), "y": (eighths(7, dtype="int32"), eighths(7))}
    results = []
    for batch in strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(columns).batch(4)):
        results += [batch, both(strategy, {"x": batch["x"], "z": batch["y"][1]}, axis=0)]
    return results


@program(wide=True, cluster="own")
def dataset_of_a_range(strategy: ss.Strategy) -> Any:
    return list(steps(strategy, ss.data.Dataset.range(3, 12).batch(4).repeat(2).take(5)))


@program(cluster="own")
def dataset_that_is_a_list_of_batches(strategy: ss.Strategy) -> Any:
    return list(steps(strategy, [eighths(3), eighths(6), eighths(0), eighths(1)]))


@program(cluster="own")
def dataset_iterated_twice_and_by_hand(strategy: ss.Strategy) -> Any:
    dataset = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(eighths(6)).batch(4))
    results: list[Any] = [list(dataset), next(iter(dataset))]
    by_hand = iter(dataset)
    try:
        while True:
            results.append(by_hand.get_next())
    except OutOfRangeError as error:
        return results, str(error)


@program()
def mean_over_a_dataset_of_partial_batches(strategy: ss.Strategy) -> Any:
    def step(batch: Any) -> Any:
        xp = replica().xp
        total = replica().all_reduce("SUM", xp.sum(batch, axis=0))
        return xp.sum(xp.square(batch), axis=1), total

    results = []
    dataset = ss.data.Dataset.from_tensor_slices(eighths(9, 2)).batch(4)
    for batch in strategy.experimental_distribute_dataset(dataset):
        losses, total = strategy.run(step, args=(batch,))
        results += [both(strategy, losses, axis=0), strategy.reduce("MEAN", total)]
    return results


@program()
def training_on_partial_batches(strategy: ss.Strategy) -> Any:
    columns = (eighths(5, 2), eighths(5))
    with strategy.scope():
        weights = ss.Variable(np.zeros((2, 1), np.float32), aggregation=ss.VariableAggregation.SUM)

    def step(x: Any, y: Any) -> Any:
        xp = replica().xp
        error = xp.matmul(x, weights.value()) - xp.expand_dims(y, axis=1)
        weights.assign_sub(xp.matmul(xp.permute_dims(x, (1, 0)), error) * 0.125)
        return xp.sum(xp.square(error), axis=1)

    batches = strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensor_slices(columns).batch(2))
    losses = [strategy.reduce("SUM", strategy.run(step, args=batch), axis=0) for batch in batches]
    return losses, weights.numpy()
