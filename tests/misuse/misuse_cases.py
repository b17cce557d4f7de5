"""Public names used wrongly, a function each: what it raises is in `messages.toml`, to the letter.

A case is named `<public name> <what is wrong>`. Each makes its own strategy, and raises in its last line.
"""

import copy
import warnings

import numpy as np
from vocabulary import ctx, rank, variable_in

import simstrategy as ss

CASES = {}


def misuse(name):
    """Registers a case."""

    def register(function):
        assert name not in CASES, name
        CASES[name] = function
        return function

    return register


def mirrored(replicas=2, **settings):
    return ss.Strategy.mirrored("sim", replicas=replicas, **settings)


def per_replica(strategy, make=lambda index: np.float32([index, index + 1])):
    return strategy.run(lambda: ctx().xp.asarray(make(rank())))


def short(strategy):
    """A PerReplica of one component for two replicas."""
    return ss.PerReplica([np.float32(1)])


# Opening.


@misuse("backend unknown")
def _():
    ss.backend("simm")


@misuse("backend no replicas")
def _():
    ss.backend("sim", replicas=0)


@misuse("backend no module")
def _():
    ss.backend("nowhere:open")


@misuse("backend no factory")
def _():
    ss.backend("simstrategy.sim:open_nothing")


@misuse("backend unknown order")
def _():
    ss.backend("sim", order="random")


@misuse("Strategy.mirrored no backend")
def _():
    ss.Strategy.mirrored(None)


@misuse("Strategy.mirrored other number of replicas")
def _():
    ss.Strategy.mirrored(ss.backend("sim", replicas=2), replicas=3)


@misuse("Strategy.mirrored duplicate devices")
def _():
    ss.Strategy.mirrored("sim", devices=["a", "a"])


@misuse("Strategy.mirrored unknown checks")
def _():
    mirrored(checks="some")


@misuse("Strategy.mirrored unknown lanes")
def _():
    mirrored(lanes="fibre")


@misuse("Strategy.one_device of two")
def _():
    ss.Strategy.one_device("sim", replicas=2)


@misuse("Strategy extended used twice")
def _():
    ss.Strategy(mirrored().extended)


@misuse("Strategy.__copy__ flat")
def _():
    copy.copy(mirrored())


@misuse("Strategy.__deepcopy__ of the default")
def _():
    copy.deepcopy(ss.get_strategy())


# Contexts.


@misuse("Strategy.scope of another")
def _():
    with mirrored().scope():
        mirrored().scope().__enter__()


@misuse("Strategy.scope in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.scope().__enter__())


@misuse("Strategy.scope left out of order")
def _():
    strategy = mirrored()
    outer, inner = strategy.scope(), strategy.scope()
    with inner:
        outer.__enter__()
        inner.__exit__(None, None, None)


@misuse("experimental_set_strategy in a scope")
def _():
    with mirrored().scope():
        ss.experimental_set_strategy(None)


@misuse("experimental_set_strategy of a name")
def _():
    ss.experimental_set_strategy("sim")


@misuse("ReplicaContext.all_reduce stale")
def _():
    context = mirrored().run(ctx).values[0]
    context.all_reduce("SUM", 1.0)


@misuse("ReplicaContext.all_reduce of another replica")
def _():
    seen = []

    def replica():
        seen.append(ctx())
        seen[0].all_reduce("SUM", 1.0)

    mirrored().run(replica)


@misuse("ReplicaContext.all_reduce of another strategy")
def _():
    context = mirrored().run(ctx).values[0]
    mirrored().run(lambda: context.all_reduce("SUM", 1.0))


@misuse("ReplicaContext.all_reduce unknown op")
def _():
    mirrored().run(lambda: ctx().all_reduce("MAX", 1.0))


@misuse("ReplicaContext.all_reduce bool")
def _():
    mirrored().run(lambda: ctx().all_reduce("SUM", np.array([True])))


@misuse("ReplicaContext.all_reduce text")
def _():
    mirrored().run(lambda: ctx().all_reduce("SUM", "text"))


@misuse("ReplicaContext.all_reduce ragged")
def _():
    mirrored().run(lambda: ctx().all_reduce("SUM", ss.PerReplica([1, 2])))


@misuse("ReplicaContext.all_reduce different shapes")
def _():
    mirrored().run(lambda: ctx().all_reduce("SUM", np.zeros(rank() + 1, np.float32)))


@misuse("ReplicaContext.all_reduce one replica left")
def _():
    mirrored().run(lambda: ctx().all_reduce("SUM", 1.0) if rank() == 0 else None)


@misuse("ReplicaContext.all_gather axis out of range")
def _():
    mirrored().run(lambda: ctx().all_gather(np.zeros(2, np.float32), 1))


@misuse("ReplicaContext.all_gather scalar")
def _():
    mirrored().run(lambda: ctx().all_gather(1.0, 0))


@misuse("ReplicaContext.all_gather other sizes off the axis")
def _():
    mirrored().run(lambda: ctx().all_gather(np.zeros((2, rank() + 1), np.float32), 0))


@misuse("ReplicaContext.all_gather axis no int")
def _():
    mirrored().run(lambda: ctx().all_gather(np.zeros(2, np.float32), "0"))


@misuse("ReplicaContext.merge_call no function")
def _():
    mirrored().run(lambda: ctx().merge_call("merge"))


@misuse("ReplicaContext.merge_call args no tuple")
def _():
    mirrored().run(lambda: ctx().merge_call(lambda strategy: 0, args=3))


@misuse("ReplicaContext.merge_call different closures")
def _():
    def replica():
        number = rank()
        ctx().merge_call(lambda strategy: number)

    mirrored().run(replica)


@misuse("ReplicaContext.seed no label")
def _():
    mirrored().run(lambda: ctx().seed(3))


# Running.


@misuse("Strategy.run args no tuple")
def _():
    mirrored().run(lambda one: one, args=3)


@misuse("Strategy.run no function")
def _():
    mirrored().run(3)


@misuse("Strategy.run kwargs no mapping")
def _():
    mirrored().run(lambda: 0, kwargs=3)


@misuse("Strategy.run in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.run(lambda: 0))


@misuse("Strategy.run too few components")
def _():
    strategy = mirrored()
    strategy.run(lambda one: one, args=(short(strategy),))


@misuse("Strategy.run results of unequal length")
def _():
    mirrored().run(lambda: [0] * rank())


@misuse("Strategy.run results of other keys")
def _():
    mirrored().run(lambda: {f"key{rank()}": 0})


@misuse("Strategy.experimental_run_v2 in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.experimental_run_v2(lambda: 0))


@misuse("Strategy.experimental_run no iterator")
def _():
    mirrored().experimental_run(lambda one: one, 3)


@misuse("StrategyExtended.call_for_each_replica in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.extended.call_for_each_replica(lambda: 0))


# Reducing.


@misuse("Strategy.reduce unknown op")
def _():
    mirrored().reduce("max", 1.0)


@misuse("Strategy.reduce op of variables")
def _():
    mirrored().reduce(ss.VariableAggregation.SUM, 1.0)


@misuse("Strategy.reduce plain value")
def _():
    mirrored().reduce("SUM", 5.0)


@misuse("Strategy.reduce too few components")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", short(strategy))


@misuse("Strategy.reduce unequal shapes")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy, lambda index: np.zeros(index + 1, np.float32)))


@misuse("Strategy.reduce unequal dtypes")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy, lambda index: np.zeros(2, ["float32", "int32"][index])))


@misuse("Strategy.reduce axis out of range")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy), axis=1)


@misuse("Strategy.reduce axis twice")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy), axis=(0, -1))


@misuse("Strategy.reduce axis a list")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy), axis=[0])


@misuse("Strategy.reduce scalar with an axis")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy, np.float32), axis=0)


@misuse("Strategy.reduce bool")
def _():
    strategy = mirrored()
    strategy.reduce("SUM", per_replica(strategy, lambda index: np.array([True])))


@misuse("Strategy.reduce in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.reduce("SUM", 1.0))


@misuse("Strategy.reduce outside the scope in TF1_13")
def _():
    strategy = mirrored(semantics=ss.Semantics.TF1_13)
    strategy.reduce("SUM", per_replica(strategy))


@misuse("Strategy.gather in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.gather(1.0, 0))


@misuse("Strategy.gather scalars")
def _():
    strategy = mirrored()
    strategy.gather(per_replica(strategy, np.float32), 0)


@misuse("Strategy.gather unequal ranks")
def _():
    strategy = mirrored()
    strategy.gather(per_replica(strategy, lambda index: np.zeros((2,) * (index + 1), np.float32)), 0)


@misuse("Strategy.experimental_distribute_values_from_function no function")
def _():
    mirrored().experimental_distribute_values_from_function(3)


@misuse("Strategy.experimental_distribute_values_from_function in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.experimental_distribute_values_from_function(lambda context: 0))


@misuse("Strategy.update_config_proto no config")
def _():
    mirrored().update_config_proto(3)


@misuse("StrategyExtended.reduce_to no destination")
def _():
    strategy = mirrored()
    with strategy.scope():
        strategy.extended.reduce_to("SUM", per_replica(strategy), None)


@misuse("StrategyExtended.batch_reduce_to no pairs")
def _():
    strategy = mirrored()
    with strategy.scope():
        strategy.extended.batch_reduce_to("SUM", [3])


@misuse("StrategyExtended.broadcast_to several destinations")
def _():
    strategy = mirrored()
    with strategy.scope():
        strategy.extended.broadcast_to(np.float32(1), ["sim:0", "sim:1"])


@misuse("StrategyExtended.update of no variable")
def _():
    strategy = mirrored()
    with strategy.scope():
        strategy.extended.update(3, lambda one: one)


@misuse("StrategyExtended.colocate_vars_with of no variable")
def _():
    strategy = mirrored()
    with strategy.scope():
        strategy.extended.colocate_vars_with(3).__enter__()


@misuse("StrategyExtended.colocate_vars_with outside the scope")
def _():
    strategy = mirrored()
    strategy.extended.colocate_vars_with(variable_in(strategy)).__enter__()


@misuse("StrategyExtended.variable_created_in_scope of no variable")
def _():
    mirrored().extended.variable_created_in_scope(3)


@misuse("StrategyExtended.read_var of no variable")
def _():
    mirrored().extended.read_var(3)


@misuse("StrategyExtended.worker_devices of the default")
def _():
    _ = ss.get_strategy().extended.worker_devices


# Values.


@misuse("PerReplica arithmetic")
def _():
    ss.PerReplica([1, 2]) + 1


@misuse("PerReplica truth")
def _():
    bool(ss.PerReplica([1, 2]))


@misuse("PerReplica no list")
def _():
    ss.PerReplica(3)


# Variables.


@misuse("Variable unknown synchronization")
def _():
    variable_in(mirrored(), synchronization="SOMETIMES")


@misuse("Variable unknown aggregation")
def _():
    variable_in(mirrored(), aggregation="MAX")


@misuse("Variable synchronization NONE")
def _():
    variable_in(mirrored(), synchronization=ss.VariableSynchronization.NONE, name="v")


@misuse("Variable mean of integers in TF2")
def _():
    strategy = mirrored(semantics=ss.Semantics.TF2)
    with strategy.scope():
        ss.Variable(1, aggregation=ss.VariableAggregation.MEAN, name="count")


@misuse("Variable of a text")
def _():
    with mirrored().scope():
        ss.Variable("text")


@misuse("Variable unknown dtype")
def _():
    with mirrored().scope():
        ss.Variable(1.0, dtype="float99")


@misuse("Variable ragged")
def _():
    with mirrored().scope():
        ss.Variable([[1.0], [1.0, 2.0]])


@misuse("Variable other names in replicas")
def _():
    mirrored().run(lambda: ss.Variable(1.0, name=f"one_{'ab'[rank()]}"))


@misuse("Variable.assign other shape")
def _():
    one = variable_in(mirrored(), [1.0, 2.0], name="one")
    one.assign([1.0, 2.0, 3.0])


@misuse("Variable.assign other dtype")
def _():
    one = variable_in(mirrored(), [1.0, 2.0], name="one")
    one.assign(np.array([1, 2]))


@misuse("Variable.assign no aggregation")
def _():
    strategy = mirrored()
    one = variable_in(strategy, name="one")
    strategy.run(lambda: one.assign(1.0))


@misuse("Variable.assign one object summed")
def _():
    strategy = mirrored()
    one = variable_in(strategy, name="one", aggregation=ss.VariableAggregation.SUM)
    shared = np.float32(3)
    strategy.run(lambda: one.assign(shared))


@misuse("Variable.assign of another strategy")
def _():
    one = variable_in(mirrored(), name="one")
    with mirrored().scope():
        one.assign(2.0)


@misuse("Variable.assign_add total of an ON_READ variable")
def _():
    settings = {
        "synchronization": ss.VariableSynchronization.ON_READ,
        "aggregation": ss.VariableAggregation.SUM,
        "name": "total",
    }
    variable_in(mirrored(), **settings).assign_add(1.0)


@misuse("Variable.assign_sub too few components")
def _():
    strategy = mirrored()
    variable_in(strategy, name="one").assign_sub(short(strategy))


@misuse("Variable.read_value ON_READ without aggregation")
def _():
    strategy = mirrored()
    one = variable_in(strategy, synchronization=ss.VariableSynchronization.ON_READ, name="own")
    with strategy.scope():
        one.read_value()


@misuse("Variable.assign unequal components, strictly")
def _():
    one = variable_in(mirrored(), name="one")
    with warnings.catch_warnings():
        warnings.simplefilter("error", ss.errors.MirroredDiverged)
        one.assign(ss.PerReplica([np.float32(1), np.float32(2)]))


@misuse("Strategy.save two of one name")
def _():
    strategy = mirrored()
    strategy.save([variable_in(strategy, name="one"), variable_in(strategy, name="one")])


@misuse("Strategy.save of no variable")
def _():
    mirrored().save([3])


@misuse("Strategy.restore missing name")
def _():
    strategy = mirrored()
    strategy.restore([variable_in(strategy, name="one")], {"two": np.float32(1)})


@misuse("Strategy.restore other shape")
def _():
    strategy = mirrored()
    strategy.restore([variable_in(strategy, name="one")], {"one": np.zeros(2, np.float32)})


# Data.


@misuse("Strategy.experimental_distribute_dataset of a text")
def _():
    mirrored().experimental_distribute_dataset("text")


@misuse("Strategy.experimental_distribute_dataset of scalars")
def _():
    list(mirrored().experimental_distribute_dataset(ss.data.Dataset.range(3)))


@misuse("Strategy.experimental_distribute_dataset in a replica")
def _():
    strategy = mirrored()
    strategy.run(lambda: strategy.experimental_distribute_dataset([]))


@misuse("Strategy.experimental_distribute_dataset unknown options")
def _():
    mirrored().experimental_distribute_dataset(ss.data.Dataset.range(3).batch(2), options=3)


@misuse("Strategy.distribute_datasets_from_function no dataset")
def _():
    mirrored().distribute_datasets_from_function(lambda context: 3)


@misuse("Strategy.distribute_datasets_from_function no function")
def _():
    mirrored().distribute_datasets_from_function(3)


@misuse("Strategy.experimental_make_numpy_dataset unequal lengths")
def _():
    mirrored().experimental_make_numpy_dataset((np.zeros(2), np.zeros(3)))


@misuse("Strategy.make_dataset_iterator indivisible in TF1_13")
def _():
    strategy = mirrored(semantics=ss.Semantics.TF1_13)
    with strategy.scope():
        strategy.make_dataset_iterator(ss.data.Dataset.range(6).batch(3))


@misuse("Strategy.make_input_fn_iterator unknown mode")
def _():
    mirrored().make_input_fn_iterator(lambda context: ss.data.Dataset.range(2), "PER_MOON")


@misuse("InputContext.get_per_replica_batch_size indivisible")
def _():
    ss.InputContext(1, 0, 2).get_per_replica_batch_size(9)


@misuse("data.Dataset.batch of nothing")
def _():
    ss.data.Dataset.range(3).batch(0)


@misuse("data.Dataset.batch ragged rows")
def _():
    list(ss.data.Dataset.range(3).map(lambda x: np.zeros(int(x))).batch(2))


@misuse("data.Dataset.from_tensor_slices scalars")
def _():
    ss.data.Dataset.from_tensor_slices(3)


@misuse("data.Dataset.from_tensor_slices unequal lengths")
def _():
    ss.data.Dataset.from_tensor_slices((np.zeros(2), np.zeros(3)))


@misuse("data.Dataset.shard none of them")
def _():
    ss.data.Dataset.range(3).shard(2, 2)


@misuse("data.Dataset.shard hint without a policy")
def _():
    list(ss.data.Dataset.range(3).shard(ss.data.SHARD_HINT, 0))


@misuse("data.TextLineDataset missing file")
def _():
    list(ss.data.TextLineDataset(["no such file.txt"]))


@misuse("data.DistributedIterator.get_next at the end")
def _():
    iterator = iter(mirrored().experimental_distribute_dataset(ss.data.Dataset.range(0).batch(2)))
    iterator.get_next()


@misuse("data.DistributedIterator in a replica")
def _():
    strategy = mirrored()
    iterator = iter(strategy.experimental_distribute_dataset(ss.data.Dataset.range(4).batch(2)))
    strategy.run(lambda: next(iterator))


# The rest.


@misuse("sim.Cluster no workers")
def _():
    ss.sim.Cluster(0, 1)


@misuse("schedules.Seeded no number")
def _():
    ss.schedules.Seeded("one")


@misuse("schedules.Replayed other draw")
def _():
    ss.schedules.Replayed([("lane", 3, 2)]).choose("lane", 2)


@misuse("nn.compute_average_loss outside replicas")
def _():
    with mirrored().scope():
        ss.nn.compute_average_loss(np.float32([1, 2]))


@misuse("nn.compute_average_loss no batch size")
def _():
    mirrored().run(lambda: ss.nn.compute_average_loss(np.float32([1, 2]), global_batch_size=0.5))


@misuse("check no backends")
def _():
    ss.check(lambda strategy: 0, backends=[])


@misuse("check no program")
def _():
    ss.check(3, backends=["sim"])
