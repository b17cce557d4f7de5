"""One exercise for every public name of both reference pages and of the project's own: true if the name does its work.

An exercise demands something that a name which does nothing cannot give. `test_surface.py` runs each, and
runs each again with the name replaced by one that does nothing. An exercise of one expression stands in the table
of its section; one of several statements is a function.
"""

import copy
import os
import tempfile
import threading
import warnings
from types import SimpleNamespace

import hypothesis
import numpy as np
from cases import in_scope, mirrored, registering, using
from ledger_steps import batch, distributed, mean_of_means
from vocabulary import SUM, components, ctx, rank, variable_in

import simstrategy as ss
from simstrategy.strategy import group_of

EXERCISES = {}
"""By dotted name: `Strategy.run`, `get_strategy`, `data.Dataset.map`."""


exercises = registering(EXERCISES)


def using_variable(exercise, value=1.0, **settings):
    """Returns an exercise that gets a strategy of its own and a variable of that."""
    return using(lambda strategy: exercise(strategy, variable_in(strategy, value, **settings)))


def first_step(iterator):
    """Returns the first step of an iterator as lists, one for each replica."""
    iterator.initialize()
    return listed(iterator.get_next())


def _saved(nest):
    checkpoint = ss.Checkpoint()
    checkpoint.save(nest)
    return checkpoint


def ranks(strategy):
    """A PerReplica of float32 [rank, rank + 1]."""
    return strategy.run(lambda: ctx().xp.asarray(np.float32([rank(), rank() + 1])))


def listed(value):
    return [np.asarray(one).tolist() for one in getattr(value, "values", (value,))]


def numbers(total=8, batch=4):
    return ss.data.Dataset.range(total).batch(batch)


def raises(kind, call):
    try:
        call()
    except kind as error:
        return isinstance(error, ss.errors.SimStrategyError)
    return False


# The strategy: constructors and attributes.


EXERCISES |= {
    "Strategy": using(lambda s: type(s) is ss.Strategy and s.run(rank).values == (0, 1)),
    "Strategy.mirrored": lambda: ss.Strategy.mirrored("sim", replicas=3).num_replicas_in_sync == 3,
    "Strategy.one_device": lambda: ss.Strategy.one_device("sim").run(rank) == 0,
    "Strategy.multi_worker": lambda: ss.Strategy.multi_worker("sim", replicas=2).num_replicas_in_sync == 2,
    "Strategy.extended": lambda: isinstance(mirrored().extended, ss.StrategyExtended),
    "Strategy.num_replicas_in_sync": lambda: mirrored(3).num_replicas_in_sync == 3,
    "Strategy.xp": lambda: float(mirrored().xp.add(1.0, 2.0)) == 3,
    "Strategy.run": lambda: listed(mirrored().run(lambda: ctx().xp.asarray(rank()))) == [0, 1],
    "Strategy.experimental_run_v2": lambda: (
        listed(mirrored().experimental_run_v2(lambda: ctx().xp.asarray(rank()))) == [0, 1]
    ),
    "Strategy.reduce": using(lambda s: listed(s.reduce("SUM", ranks(s))) == [[1, 3]]),
    "Strategy.gather": using(lambda s: listed(s.gather(ranks(s), 0)) == [[0, 1, 1, 2]]),
    "Strategy.experimental_local_results": using(
        lambda s: [one.tolist() for one in s.experimental_local_results(ranks(s))] == [[0, 1], [1, 2]]
    ),
    "Strategy.unwrap": using(lambda s: [one.tolist() for one in s.unwrap(ranks(s))] == [[0, 1], [1, 2]]),
    "Strategy.experimental_distribute_dataset": lambda: (
        next(listed(step) for step in mirrored().experimental_distribute_dataset(numbers())) == [[0, 1], [2, 3]]
    ),
    "Strategy.distribute_datasets_from_function": using(
        lambda s: (
            [listed(step) for step in s.distribute_datasets_from_function(lambda _: numbers(8, 2))][1]
            == [[4, 5], [6, 7]]
        )
    ),
    "Strategy.experimental_distribute_datasets_from_function": using(
        lambda s: (
            [listed(step) for step in s.experimental_distribute_datasets_from_function(lambda _: numbers(8, 2))][1]
            == [[4, 5], [6, 7]]
        )
    ),
    "Strategy.experimental_distribute_values_from_function": using(
        lambda s: (
            s.experimental_distribute_values_from_function(lambda context: context.replica_id_in_sync_group).values
            == (0, 1)
        )
    ),
    "Strategy.experimental_make_numpy_dataset": using(
        lambda s: [int(one) for one in s.experimental_make_numpy_dataset(np.arange(3))] == [0, 1, 2]
    ),
    "Strategy.make_dataset_iterator": using(
        lambda s: first_step(s.make_dataset_iterator(numbers())) == [[0, 1], [2, 3]]
    ),
    "Strategy.make_input_fn_iterator": using(
        lambda s: first_step(s.make_input_fn_iterator(lambda context: numbers(8, 2))) == [[0, 1], [2, 3]]
    ),
    "Strategy.save": using_variable(lambda s, v: s.save([v])["one"] == 2, 2.0, name="one"),
    "Strategy.scope": in_scope(lambda s: ss.get_strategy() is s),
    "Strategy.experimental_initialize": lambda: mirrored().experimental_initialize() == [],
    "Strategy.experimental_finalize": lambda: mirrored().experimental_finalize() == [],
}


@exercises("Strategy.central_storage")
def _():
    strategy = ss.Strategy.central_storage("sim", replicas=2)
    one = variable_in(strategy, aggregation=SUM)
    strategy.run(lambda: one.assign_add(np.float32(rank() + 1)))
    return components(one) == [4] and strategy.extended.parameter_devices == ("sim:0",)


@exercises("Strategy.experimental_run")
def _():
    strategy = mirrored(2)
    iterator = strategy.make_dataset_iterator(numbers())
    iterator.initialize()
    return listed(strategy.experimental_run(ctx().xp.sum, iterator)) == [1, 5]


@exercises("Strategy.update_config_proto")
def _():
    config = SimpleNamespace(isolate_session_state=False)
    changed = mirrored().update_config_proto(config)
    return changed.isolate_session_state and not config.isolate_session_state


@exercises("Strategy.__deepcopy__")
def _():
    strategy = mirrored(3)
    twin = copy.deepcopy(strategy)
    return twin is not strategy and twin.num_replicas_in_sync == 3


@exercises("Strategy.restore")
def _():
    strategy = mirrored()
    one = variable_in(strategy, 2.0, name="one")
    strategy.restore([one], {"one": np.float32(5)})
    return [float(component) for component in one.components] == [5, 5]


@exercises("Strategy.close")
def _():
    before = _task_threads()
    strategy = mirrored(2, executor="thread")
    strategy.run(rank)
    own = _task_threads() - before
    strategy.close()
    return len(own) == 2 and not own & _task_threads()


def _task_threads():
    return {thread for thread in threading.enumerate() if thread.name == "simstrategy task"}


# For libraries.


EXERCISES |= {
    "StrategyExtended": lambda: isinstance(mirrored().extended, ss.StrategyExtended),
    "StrategyExtended.call_for_each_replica": lambda: (
        listed(mirrored().extended.call_for_each_replica(lambda: ctx().xp.asarray(rank()))) == [0, 1]
    ),
    "StrategyExtended.non_slot_devices": using(
        lambda s: tuple(s.extended.non_slot_devices([variable_in(s)])) == s.extended.worker_devices
    ),
    "StrategyExtended.variable_created_in_scope": using(
        lambda s: s.extended.variable_created_in_scope(variable_in(s)) is True
    ),
    "StrategyExtended.reduce_to": using_variable(
        lambda s, v: listed(s.extended.reduce_to("SUM", ranks(s), v)) == [[1, 3]] * 2
    ),
    "StrategyExtended.batch_reduce_to": using_variable(
        lambda s, v: [listed(one) for one in s.extended.batch_reduce_to("SUM", [(ranks(s), v)])] == [[[1, 3]] * 2]
    ),
    "StrategyExtended.broadcast_to": using_variable(
        lambda s, v: listed(s.extended.broadcast_to(np.float32(3), v)) == [3, 3]
    ),
    "StrategyExtended.update": using_variable(
        lambda s, v: s.extended.update(v, lambda part, n: float(part) + n, args=(2,), group=False) == (3, 3)
    ),
    "StrategyExtended.update_non_slot": using_variable(
        lambda s, v: len(s.extended.update_non_slot(s.extended.non_slot_devices([v]), object, group=False)) == 2
    ),
    "StrategyExtended.value_container": using_variable(lambda s, v: s.extended.value_container(v) is v),
    "StrategyExtended.read_var": using_variable(lambda s, v: float(s.extended.read_var(v)) == 4, 4.0),
    "StrategyExtended.worker_devices": lambda: mirrored().extended.worker_devices == ("sim:0", "sim:1"),
    "StrategyExtended.parameter_devices": lambda: mirrored().extended.parameter_devices == ("sim:0", "sim:1"),
}


@exercises("StrategyExtended.colocate_vars_with")
def _():
    strategy = mirrored()
    one = variable_in(strategy)
    with strategy.scope(), strategy.extended.colocate_vars_with(one):
        return ss.get_strategy() is strategy


for _name, _value in {
    "experimental_require_static_shapes": False,
    "experimental_between_graph": False,
    "experimental_should_init": True,
    "should_checkpoint": True,
    "should_save_summary": True,
}.items():
    EXERCISES[f"StrategyExtended.{_name}"] = lambda name=_name, value=_value: (
        getattr(mirrored().extended, name) is value
    )


# A replica's context.


EXERCISES |= {
    "ReplicaContext": lambda: isinstance(ctx(), ss.ReplicaContext),
    "ReplicaContext.replica_id_in_sync_group": lambda: mirrored().run(rank).values == (0, 1),
    "ReplicaContext.num_replicas_in_sync": lambda: mirrored(3).run(lambda: [ctx().num_replicas_in_sync]) == [3],
    "ReplicaContext.strategy": using(lambda s: s.run(lambda: ctx().strategy) is s),
    "ReplicaContext.devices": lambda: mirrored().run(lambda: ctx().devices)[0].values == ("sim:0", "sim:1"),
    "ReplicaContext.xp": lambda: listed(mirrored().run(lambda: ctx().xp.asarray(rank()))) == [0, 1],
    "ReplicaContext.merge_call": lambda: (
        mirrored().run(lambda: ctx().merge_call(lambda strategy, value: value.values, args=(rank(),))) == (0, 1)
    ),
    "ReplicaContext.all_reduce": lambda: (
        listed(mirrored().run(lambda: ctx().all_reduce("SUM", np.float32(rank() + 1)))) == [3, 3]
    ),
    "ReplicaContext.all_gather": lambda: (
        listed(mirrored().run(lambda: ctx().all_gather(np.float32([rank()]), 0))) == [[0, 1]] * 2
    ),
}


@exercises("ReplicaContext.require_equal")
def _():
    mirrored().run(lambda: ctx().require_equal([1, "a", np.ones(2)]))
    return raises(ss.errors.ReplicasDisagree, lambda: mirrored().run(lambda: ctx().require_equal(rank())))


@exercises("Strategy.require_equal")
def _():
    mirrored().require_equal(ss.PerReplica([1, 1]))
    return raises(ss.errors.ReplicasDisagree, lambda: mirrored().require_equal(ss.PerReplica([1, 2])))


@exercises("Strategy.require_equal_after_run")
def _():
    strategy = mirrored()
    strategy.require_equal_after_run("state", lambda: ss.PerReplica([1, 2]))
    return raises(ss.errors.ReplicasDisagree, lambda: strategy.run(lambda: None))


@exercises("ReplicaContext.seed")
def _():
    first, second = mirrored().run(lambda: ctx().seed("here")).values
    return first != second


# What is current.


EXERCISES |= {
    "get_strategy": in_scope(lambda s: ss.get_strategy() is s),
    "has_strategy": in_scope(lambda s: ss.has_strategy() is True),
    "in_cross_replica_context": in_scope(lambda s: ss.in_cross_replica_context() is True),
}


EXERCISES |= {
    "get_replica_context": lambda: ss.get_replica_context().num_replicas_in_sync == 1,
    "backend": lambda: ss.backend("sim", replicas=2).name == "sim",
    "backends": lambda: "sim" in ss.backends(),
    "check": lambda: ss.check(_mean_of_ones, replicas=[2, 3]).agrees and not ss.check(_program, replicas=[2, 3]).agrees,
    "Checkpoint.save": lambda: _saved([1.5]).saves == 1,
    "Checkpoint.restore": lambda: ss.Checkpoint(_saved([1.5]).saved[1]).restore() == [1.5],
    "exempt": lambda: (
        ss.check(lambda one: ss.exempt(_program(one), reason="counts"), replicas=[2, 3]).rows[-1].exempt
        == ("result: counts",)
    ),
    "testing.assert_lawful": lambda: (
        ss.testing.assert_lawful(_mean_of_ones, replicas=[2, 3]).agrees
        and raises(ss.errors.Difference, lambda: ss.testing.assert_lawful(_program, replicas=[2, 3]))
    ),
    "testing.batches": lambda: _smallest(ss.testing.batches(rows=4, features=2), np.any).shape == (1, 2),
    "testing.replica_counts": lambda: _smallest(ss.testing.replica_counts(8), lambda count: count > 4) == 5,
    "testing.World": lambda: (
        mirrored(3).run(lambda: ss.testing.World(rank(), 3).context.replica_id_in_sync_group).values == (0, 1, 2)
    ),
    "Report": lambda: isinstance(ss.check(_program, backends=["sim"], replicas=[1]), ss.Report),
    "ledger": lambda: _ledger().samples == 10,
    "Ledger": lambda: isinstance(_ledger(), ss.Ledger),
    "Ledger.right": lambda: _ledger().right is False,
    "Ledger.problems": lambda: len(_ledger().problems) == 1,
    "Ledger.entry": lambda: _ledger().entry(3).parts[8:] == ((2,), (2,)),
    "Ledger.weights": lambda: [str(one) for one in _ledger().weights(3)[7:]] == ["5/6", "5/3", "5/3"],
}


def _ledger():
    """The ledger of a mean of means over 10 samples: parts of 4, 4 and 2."""
    return ss.ledger(distributed(mean_of_means), batch(), replicas=[3])


@exercises("experimental_set_strategy")
def _():
    strategy = mirrored()
    ss.experimental_set_strategy(strategy)
    try:
        return ss.get_strategy() is strategy
    finally:
        ss.experimental_set_strategy(None)


def _smallest(drawn, condition):
    quick = hypothesis.settings(database=None, derandomize=True)
    return hypothesis.find(drawn, condition, settings=quick)


def _mean_of_ones(strategy):
    return strategy.reduce("MEAN", strategy.run(lambda: ctx().xp.asarray(1.0)))


def _program(strategy):
    return strategy.reduce("SUM", strategy.run(lambda: ctx().xp.asarray(float(rank() + 1))))


# Variables.


EXERCISES |= {
    "Variable": lambda: variable_in(mirrored(), 2.0).numpy() == 2,
    "Variable.value": lambda: float(variable_in(mirrored(), 2.0).value()) == 2,
    "Variable.read_value": lambda: float(variable_in(mirrored(), 2.0).read_value()) == 2,
    "Variable.numpy": lambda: variable_in(mirrored(), 2.0).numpy() == 2,
    "Variable.native": lambda: variable_in(mirrored(), 2.0).native is not None,
    "Variable.components": lambda: len(variable_in(mirrored(), 2.0).components) == 2,
}


def _written(method, wanted):
    one = variable_in(mirrored(), 2.0)
    getattr(one, method)(np.float32(3))
    return [float(component) for component in one.components] == [wanted, wanted]


EXERCISES["Variable.assign"] = lambda: _written("assign", 3)
EXERCISES["Variable.assign_add"] = lambda: _written("assign_add", 5)
EXERCISES["Variable.assign_sub"] = lambda: _written("assign_sub", -1)


def _attribute(name, wanted):
    settings = {"name": "w", "aggregation": ss.VariableAggregation.SUM, "trainable": True}
    return getattr(variable_in(mirrored(), [1.0, 2.0], **settings), name) == wanted


for _name, _value in {
    "name": "w",
    "dtype": "float32",
    "shape": (2,),
    "trainable": True,
    "synchronization": ss.VariableSynchronization.ON_WRITE,
    "aggregation": ss.VariableAggregation.SUM,
}.items():
    EXERCISES[f"Variable.{_name}"] = lambda name=_name, value=_value: _attribute(name, value)


# Values and enums.


EXERCISES |= {
    "PerReplica": lambda: mirrored().run(lambda one: one, args=(ss.PerReplica([3, 4]),)).values == (3, 4),
    "PerReplica.values": lambda: ss.PerReplica([3, 4]).values == (3, 4),
    "Mirrored": using(
        lambda s: [int(one) for one in s.run(lambda one: one, args=(ss.Mirrored([300, 301]),)).values] == [300, 301]
    ),
    "Mirrored.values": lambda: ss.Mirrored([3, 4]).values == (3, 4),
    "ReduceOp": using(lambda s: listed(s.reduce(ss.ReduceOp.MEAN, ranks(s))) == [[0.5, 1.5]]),
    "InputContext": lambda: ss.InputContext(2, 1, 4).get_per_replica_batch_size(8) == 2,
    "InputContext.get_per_replica_batch_size": lambda: ss.InputContext(2, 1, 4).get_per_replica_batch_size(8) == 2,
    "Semantics": lambda: group_of(mirrored(semantics=ss.Semantics.TF2)).semantics.release == "2.21.0",
}


@exercises("VariableSynchronization")
def _():
    one = variable_in(mirrored(), synchronization=ss.VariableSynchronization.ON_READ)
    return one.trainable is False


@exercises("VariableAggregation")
def _():
    strategy = mirrored()
    one = variable_in(strategy, aggregation=ss.VariableAggregation.SUM)
    strategy.run(lambda: one.assign(np.float32(rank() + 1)) and None)
    return one.numpy() == 3


for _name, _value in {"num_input_pipelines": 2, "input_pipeline_id": 1, "num_replicas_in_sync": 4}.items():
    EXERCISES[f"InputContext.{_name}"] = lambda name=_name, value=_value: (
        getattr(ss.InputContext(2, 1, 4), name) == value
    )


@exercises("ValueContext")
def _():
    values = mirrored().experimental_distribute_values_from_function(lambda context: context)
    return all(isinstance(one, ss.ValueContext) for one in values.values)


for _name, _value in {"num_replicas_in_sync": (2, 2), "replica_id_in_sync_group": (0, 1)}.items():
    EXERCISES[f"ValueContext.{_name}"] = lambda name=_name, value=_value: (
        mirrored().experimental_distribute_values_from_function(lambda context: getattr(context, name)).values == value
    )


@exercises("InputOptions")
def _():
    options = ss.InputOptions(split_rule=ss.data.SplitRule.STREAM)
    steps = mirrored().experimental_distribute_dataset(numbers(10), options)
    return [listed(step) for step in steps][-1] == [[8, 9], []]


@exercises("InputReplicationMode")
def _():
    mode = ss.InputReplicationMode.PER_WORKER
    iterator = mirrored().make_input_fn_iterator(lambda context: numbers(8, 2), mode)
    iterator.initialize()
    return listed(iterator.get_next()) == [[0, 1], [2, 3]]


@exercises("AutoShardPolicy")
def _():
    options = ss.InputOptions(auto_shard_policy=ss.AutoShardPolicy.OFF)
    return len([*mirrored().experimental_distribute_dataset(numbers(), options)]) == 2


# The data room's own names.


EXERCISES |= {
    "data.Dataset": lambda: [int(one) for one in ss.data.Dataset.range(3)] == [0, 1, 2],
    "data.SplitRule": lambda: ss.data.SplitRule.PER_BATCH is not ss.data.SplitRule.STREAM,
}


def _rows(dataset):
    return [np.asarray(one).tolist() for one in dataset]


def _dataset(name, call, wanted):
    EXERCISES[f"data.Dataset.{name}"] = lambda: call() == wanted


_D = ss.data.Dataset
_dataset("from_tensors", lambda: _rows(_D.from_tensors(np.arange(2))), [[0, 1]])
_dataset("from_tensor_slices", lambda: _rows(_D.from_tensor_slices(np.arange(2))), [0, 1])
_dataset("range", lambda: _rows(_D.range(1, 4)), [1, 2, 3])
_dataset("from_generator", lambda: _rows(_D.from_generator(lambda: iter(range(2)))), [0, 1])
_dataset("map", lambda: _rows(_D.range(2).map(lambda x: x + 1)), [1, 2])
_dataset("filter", lambda: _rows(_D.range(4).filter(lambda x: x % 2 == 0)), [0, 2])
_dataset("flat_map", lambda: _rows(_D.range(3).flat_map(_D.range)), [0, 0, 1])
_dataset("interleave", lambda: _rows(_D.range(2, 4).interleave(_D.range, cycle_length=2)), [0, 0, 1, 1, 2])
_dataset("zip", lambda: [tuple(map(int, pair)) for pair in _D.zip((_D.range(2), _D.range(5, 7)))], [(0, 5), (1, 6)])
_dataset("batch", lambda: _rows(_D.range(3).batch(2)), [[0, 1], [2]])
_dataset("unbatch", lambda: _rows(_D.range(3).batch(2).unbatch()), [0, 1, 2])
_dataset("shuffle", lambda: sorted(_rows(_D.range(3).shuffle(3, seed=1))), [0, 1, 2])
_dataset("repeat", lambda: _rows(_D.range(2).repeat(2)), [0, 1, 0, 1])
_dataset("shard", lambda: _rows(_D.range(5).shard(2, 1)), [1, 3])
_dataset("take", lambda: _rows(_D.range(5).take(2)), [0, 1])
_dataset("skip", lambda: _rows(_D.range(5).skip(3)), [3, 4])
_dataset("prefetch", lambda: _rows(_D.range(2).prefetch(1)), [0, 1])
_dataset("cache", lambda: _rows(_D.range(2).cache()), [0, 1])
_dataset("with_options", lambda: _rows(_D.range(2).with_options(ss.data.Options())), [0, 1])


@exercises("data.Options")
def _():
    options = ss.data.Options(split_rule=ss.data.SplitRule.STREAM)
    steps = mirrored().experimental_distribute_dataset(numbers(10).with_options(options))
    return [listed(step) for step in steps][-1] == [[8, 9], []]


@exercises("data.SHARD_HINT")
def _():
    hinted = _D.range(4).shard(ss.data.SHARD_HINT, 0).batch(2)
    options = ss.InputOptions(auto_shard_policy=ss.AutoShardPolicy.HINT)

    def main(strategy):
        return [np.asarray(step).tolist() for step in strategy.experimental_distribute_dataset(hinted, options)]

    return ss.sim.Cluster(2, 1, semantics=ss.Semantics.TF2).run(main) == ([[0], [2]], [[1], [3]])


# The cluster, the rooms with their own names, and the losses.


EXERCISES |= {
    "sim.Cluster": lambda: ss.sim.Cluster(2, 1).run(lambda strategy: strategy.num_replicas_in_sync) == (2, 2),
    "sim.Cost": lambda: ss.sim.Cost(alpha_s=1.0).alpha_s == 1,
    "sim.Cost.seconds": lambda: ss.sim.Cost(alpha_s=1.0).seconds("broadcast", 3, 8, "ring") == 2,
    "sim.Cost.computing": lambda: ss.sim.Cost(compute_s=1.0, row_s=0.5, slow={2: 4.0}).computing(2, 2) == 8,
    "sim.timeline": lambda: ss.sim.timeline(ss.trace.Recorder().recording(), ss.sim.Cost()).spans == (),
    "data.split": lambda: ss.data.split(ss.data.Dataset.range(3).batch(3), replicas=2).steps == [[["0", "1"], ["2"]]],
    "sim.Cluster.run": lambda: ss.sim.Cluster(2, 1).run(lambda strategy: strategy.num_replicas_in_sync) == (2, 2),
    "nn.compute_average_loss": lambda: (
        float(
            mirrored().run(lambda: [ss.nn.compute_average_loss(np.float32([1, 3]), global_batch_size=4)])[0].values[0]
        )
        == 1
    ),
    "schedules.InOrder": lambda: ss.schedules.InOrder().choose("lane", 3) == 0,
    "schedules.Every": lambda: [one.choose("task", 2) for one in ss.schedules.Every(9)] == [0, 1],
    "schedules.Replayed": lambda: ss.schedules.Replayed([("lane", 3, 2)]).choose("lane", 3) == 2,
}


@exercises("nn.scale_regularization_loss")
def _():
    (loss,) = mirrored().run(lambda: [ss.nn.scale_regularization_loss(np.float32(3))])
    return listed(loss) == [1.5, 1.5]


@exercises("schedules.Seeded")
def _():
    schedule = ss.schedules.Seeded(1)
    return len({*(schedule.choose("lane", 1000) for _ in range(10))}) > 5


@exercises("schedules.Recorded")
def _():
    recorded = ss.schedules.Recorded(ss.schedules.Seeded(1))
    return recorded.draws == [] and recorded.choose("lane", 3) == recorded.draws[0][2]


@exercises("trace.Trace")
def _():
    trace = ss.trace.Trace()
    strategy = mirrored(trace=trace)
    strategy.run(lambda: ctx().all_reduce("SUM", 1.0))
    return len([*trace.events()]) > 2


@exercises("trace.Recorder")
def _():
    recorder = ss.trace.Recorder()
    mirrored(trace=recorder).run(lambda: ctx().all_reduce("SUM", 1.5))
    return recorder.recording().points[-1].outputs[0][0].array == 3.0


@exercises("trace.read")
def _():
    with tempfile.TemporaryDirectory() as folder:
        recorder = ss.trace.Recorder(f"{folder}/a.jsonl")
        mirrored(trace=recorder).run(lambda: ctx().all_reduce("SUM", 1.5))
        recorder.close()
        return ss.trace.read(f"{folder}/a.jsonl").points[-1].outputs[0][0].array == 3.0


@exercises("errors.MirroredDiverged")
def _():
    strategy = mirrored()
    one = variable_in(strategy)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        one.assign(ss.PerReplica([np.float32(1), np.float32(2)]))
    return any(issubclass(warning.category, ss.errors.MirroredDiverged) for warning in seen)


@exercises("errors.OutOfRangeError")
def _():
    iterator = iter(mirrored().experimental_distribute_dataset(numbers(4, 4)))
    iterator.get_next()
    return raises(ss.errors.OutOfRangeError, iterator.get_next)


# Iterators.


EXERCISES |= {
    "data.DistributedIterator.get_next": lambda: (
        listed(iter(mirrored().experimental_distribute_dataset(numbers())).get_next()) == [[0, 1], [2, 3]]
    ),
    "data.DistributedDataset.element_spec": lambda: (
        mirrored().experimental_distribute_dataset(numbers()).element_spec is not None
    ),
}


@exercises("data.DistributedIterator.get_next_as_optional")
def _():
    iterator = iter(mirrored().experimental_distribute_dataset(numbers(4, 4)))
    one, none = iterator.get_next_as_optional(), iterator.get_next_as_optional()
    return one.has_value() and listed(one.get_value()) == [[0, 1], [2, 3]] and not none.has_value()


# Estimators.


def _line(features, labels, mode, ctx):
    w = ctx.variable("w", ctx.params)
    predictions = features * w.value()
    if mode == "infer":
        return ss.estimator.EstimatorSpec(mode, predictions=predictions)
    errors = predictions - labels
    factors = ss.estimator.loss_factors(ctx.xp, ctx.xp.ones_like(errors), "SUM")
    return ss.estimator.EstimatorSpec(
        mode,
        loss=ctx.xp.sum(errors * errors * factors),
        gradients=[(ctx.xp.sum(2 * errors * features * factors), w)],
        optimizer=ss.estimator.Optimizer(lambda xp, gradient, value: (value - 0.25 * gradient,)),
        loss_reduction="SUM",
        metrics={"error": ss.estimator.Mean(errors)},
    )


def _ones():
    return ss.data.Dataset.from_tensor_slices((np.ones(2, np.float32), np.full(2, 2, np.float32))).batch(1)


def _trained(replicas=2):
    config = ss.estimator.RunConfig(train_distribute=mirrored(replicas))
    return ss.estimator.Estimator(_line, config, params=np.float32(1.0)).train(_ones)


def _context(exercise):
    """Returns what an exercise gives in a model function."""
    found = []

    def model_fn(features, labels, mode, ctx):
        found.append(exercise(ctx))
        return _line(features, labels, mode, ctx)

    ss.estimator.Estimator(model_fn, params=np.float32(1.0)).train(_ones, steps=1)
    return found[0]


EXERCISES |= {
    # Both replicas' gradients of -2 are added: 1 + 0.25 * 4.
    "estimator.Estimator": lambda: float(_trained().evaluate(_ones)["loss"]) == 0,
    "estimator.Estimator.config": lambda: _trained().config.train_distribute.num_replicas_in_sync == 2,
    "estimator.Estimator.evaluate": lambda: float(_trained().evaluate(_ones)["error"]) == 0,
    "estimator.Estimator.latest_checkpoint": lambda: _trained().latest_checkpoint().endswith("model.ckpt-1.npz"),
    "estimator.Estimator.model_dir": lambda: [os.path.isdir(one.model_dir) for one in [_trained()]] == [True],
    "estimator.Estimator.predict": lambda: [float(one) for one in _trained().predict(_ones)] == [2, 2],
    "estimator.Estimator.train": lambda: int(_trained(1).evaluate(_ones)["global_step"]) == 2,
    "estimator.EstimatorSpec": lambda: ss.estimator.EstimatorSpec("eval", loss=1.0).loss_reduction == "MEAN",
    "estimator.Mean": lambda: ss.estimator.Mean([1.0], weights=[2.0]).weights == [2.0],
    "estimator.ModelContext": lambda: _context(lambda ctx: isinstance(ctx, ss.estimator.ModelContext)),
    "estimator.ModelContext.params": lambda: _context(lambda ctx: ctx.params == 1),
    "estimator.ModelContext.replica": lambda: _context(lambda ctx: ctx.replica.num_replicas_in_sync == 1),
    "estimator.ModelContext.variable": lambda: _context(lambda ctx: ctx.variable("w", 3.0).name == "w"),
    "estimator.ModelContext.xp": lambda: _context(lambda ctx: float(ctx.xp.ones(())) == 1),
    "estimator.Optimizer": lambda: ss.estimator.Optimizer(lambda *_: (), {"m": 0.5}).slots == {"m": 0.5},
    "estimator.RunConfig": lambda: raises(TypeError, lambda: ss.estimator.RunConfig(train_distribute=3)),
    "estimator.loss_factors": lambda: ss.estimator.loss_factors(np, np.ones(4), "MEAN").tolist() == [0.25] * 4,
}
