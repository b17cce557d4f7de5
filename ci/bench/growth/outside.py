"""Calls outside of replica functions: reductions, gathers, updates, datasets, and whole clusters."""

import numpy as np

import simstrategy as ss
from ci.bench.growth.style import REPLICAS, Sizes, Style

__all__ = ["STYLES"]

_WORKERS = Sizes((4, 16, 64), (8, 32, 128))
_LEAVES = Sizes((64, 256, 1024), (256, 1024, 4096))


def _with_parts(action, **settings):
    """Returns the style of an action with a strategy and a PerReplica value of [1, 2] float32."""

    def make(count):
        made = {name: value() for name, value in settings.items()}
        strategy = ss.Strategy.mirrored("sim", replicas=count, **made)
        parts = ss.PerReplica([np.full((1, 2), rank, np.float32) for rank in range(count)])
        return lambda: action(strategy, parts)

    return Style("replicas", make, REPLICAS)


def _of_leaves(action, **settings):
    """Returns the style of an action with a strategy of two replicas and a nest of so many NumPy arrays."""

    def make(count):
        made = {name: value() for name, value in settings.items()}
        strategy = ss.Strategy.mirrored("sim", replicas=2, **made)
        nest = {f"leaf{number:05}": np.full(1, number, np.float32) for number in range(count)}
        return lambda: action(strategy, nest)

    return Style("leaves", make, _LEAVES)


def _in_replicas(call):
    return lambda strategy, nest: strategy.run(lambda given: call(ss.get_replica_context(), given), (nest,))


def _of_workers(program):
    """Returns the style of a cluster of so many workers with two replicas each."""
    return Style("workers", lambda count: lambda: ss.sim.Cluster(count, 2).run(program), _WORKERS)


def _batches(strategy, parts):
    count = len(parts.values)
    dataset = ss.data.Dataset.from_tensor_slices(np.zeros((count * 2, 1), np.float32)).batch(count)
    return list(strategy.experimental_distribute_dataset(dataset))


def _from_function(strategy, parts):
    count = len(parts.values)

    def dataset_fn(_context):
        return ss.data.Dataset.from_tensor_slices(np.zeros((count * 2, 1), np.float32)).batch(2)

    return list(strategy.distribute_datasets_from_function(dataset_fn))


def _summing(strategy):
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.5))


def _writing(strategy):
    with strategy.scope():
        variable = ss.Variable(0.0, aggregation=ss.VariableAggregation.SUM)
    strategy.run(lambda: variable.assign_add(1.0))
    return variable.numpy()


def _reading(strategy):
    dataset = ss.data.Dataset.range(64).batch(32)
    return [strategy.run(lambda x: x, (step,)) for step in strategy.experimental_distribute_dataset(dataset)]


STYLES = {
    "reduce(SUM, PerReplica, axis=None)": _with_parts(lambda strategy, x: strategy.reduce("SUM", x, axis=None)),
    "reduce(MEAN, PerReplica, axis=0)": _with_parts(lambda strategy, x: strategy.reduce("MEAN", x, axis=0)),
    "reduce of a nest": _with_parts(lambda strategy, x: strategy.reduce("SUM", {"a": x, "b": [x]}, axis=None)),
    "gather": _with_parts(lambda strategy, x: strategy.gather(x, axis=0)),
    "experimental_local_results": _with_parts(lambda strategy, x: strategy.experimental_local_results(x)),
    "steps of a distributed dataset": _with_parts(_batches),
    "steps of a dataset function": _with_parts(_from_function),
    "steps of a distributed dataset, recorded": _with_parts(_batches, trace=ss.trace.Recorder),
    "all_reduce of one nest": _of_leaves(_in_replicas(lambda ctx, nest: ctx.all_reduce("SUM", nest))),
    "all_reduce of one nest, recorded": _of_leaves(
        _in_replicas(lambda ctx, nest: ctx.all_reduce("SUM", nest)), trace=ss.trace.Recorder
    ),
    "all_gather of one nest": _of_leaves(_in_replicas(lambda ctx, nest: ctx.all_gather(nest, axis=0))),
    "merge_call with one nest": _of_leaves(
        _in_replicas(lambda ctx, nest: ctx.merge_call(lambda strategy, given: given, args=(nest,)))
    ),
    "require_equal of one nest": _of_leaves(_in_replicas(lambda ctx, nest: ctx.require_equal(nest))),
    "run that returns one nest": _of_leaves(_in_replicas(lambda ctx, nest: {**nest})),
    "steps of elements with so many parts, recorded": _of_leaves(
        lambda strategy, nest: list(
            strategy.experimental_distribute_dataset(ss.data.Dataset.from_tensors(nest).repeat(2))
        ),
        trace=ss.trace.Recorder,
    ),
    "a cluster that all-reduces": _of_workers(_summing),
    "a cluster that writes a variable": _of_workers(_writing),
    "a cluster that reads a dataset": _of_workers(_reading),
}
