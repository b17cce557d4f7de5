"""Public names used wrongly, a call each: what it raises is in `messages.toml`, to the letter.

A case is named `<public name> <what is wrong>`. A call stands in the table of its section; a case of several
statements is a function, which raises in its last line. Each case makes its own strategy.
"""

import copy
import warnings

import numpy as np
from cases import in_scope, mirrored, registering, using
from vocabulary import ctx, rank, variable_in

import simstrategy as ss

CASES = {}


misuse = registering(CASES)


def per_replica(strategy, make=lambda index: np.float32([index, index + 1])):
    return strategy.run(lambda: ctx().xp.asarray(make(rank())))


def short(strategy):
    """A PerReplica of one component for two replicas."""
    return ss.PerReplica([np.float32(1)])


# Opening.


CASES |= {
    "backend unknown": lambda: ss.backend("simm"),
    "backend no replicas": lambda: ss.backend("sim", replicas=0),
    "backend no module": lambda: ss.backend("nowhere:open"),
    "backend no factory": lambda: ss.backend("simstrategy.sim:open_nothing"),
    "backend unknown order": lambda: ss.backend("sim", order="random"),
    "Strategy.mirrored no backend": lambda: ss.Strategy.mirrored(None),
    "Strategy.mirrored other number of replicas": lambda: ss.Strategy.mirrored(
        ss.backend("sim", replicas=2), replicas=3
    ),
    "Strategy.mirrored duplicate devices": lambda: ss.Strategy.mirrored("sim", devices=["a", "a"]),
    "Strategy.mirrored unknown checks": lambda: mirrored(checks="some"),
    "Strategy.mirrored unknown executor": lambda: mirrored(executor="fibre"),
    "Strategy.one_device of two": lambda: ss.Strategy.one_device("sim", replicas=2),
    "Strategy extended used twice": lambda: ss.Strategy(mirrored().extended),
    "Strategy.__copy__ flat": lambda: copy.copy(mirrored()),
    "Strategy.__deepcopy__ of the default": lambda: copy.deepcopy(ss.get_strategy()),
    "Strategy.scope of another": in_scope(lambda _: mirrored().scope().__enter__()),
}


# Contexts.


CASES |= {
    "Strategy.scope in a replica": using(lambda s: s.run(lambda: s.scope().__enter__())),
    "experimental_set_strategy of a name": lambda: ss.experimental_set_strategy("sim"),
    "ReplicaContext.all_reduce unknown op": lambda: mirrored().run(lambda: ctx().all_reduce("MAX", 1.0)),
    "ReplicaContext.all_reduce bool": lambda: mirrored().run(lambda: ctx().all_reduce("SUM", np.array([True]))),
    "ReplicaContext.all_reduce text": lambda: mirrored().run(lambda: ctx().all_reduce("SUM", "text")),
    "ReplicaContext.all_reduce ragged": lambda: mirrored().run(lambda: ctx().all_reduce("SUM", ss.PerReplica([1, 2]))),
    "ReplicaContext.all_reduce different shapes": lambda: mirrored().run(
        lambda: ctx().all_reduce("SUM", np.zeros(rank() + 1, np.float32))
    ),
    "ReplicaContext.all_reduce one replica left": lambda: mirrored().run(
        lambda: ctx().all_reduce("SUM", 1.0) if rank() == 0 else None
    ),
    "ReplicaContext.all_gather axis out of range": lambda: mirrored().run(
        lambda: ctx().all_gather(np.zeros(2, np.float32), 1)
    ),
    "ReplicaContext.all_gather scalar": lambda: mirrored().run(lambda: ctx().all_gather(1.0, 0)),
    "ReplicaContext.all_gather other sizes off the axis": lambda: mirrored().run(
        lambda: ctx().all_gather(np.zeros((2, rank() + 1), np.float32), 0)
    ),
    "ReplicaContext.all_gather axis no int": lambda: mirrored().run(
        lambda: ctx().all_gather(np.zeros(2, np.float32), "0")
    ),
    "ReplicaContext.merge_call no function": lambda: mirrored().run(lambda: ctx().merge_call("merge")),
    "ReplicaContext.merge_call args no tuple": lambda: mirrored().run(
        lambda: ctx().merge_call(lambda strategy: 0, args=3)
    ),
    "ReplicaContext.seed no label": lambda: mirrored().run(lambda: ctx().seed(3)),
    "experimental_set_strategy in a scope": in_scope(lambda _: ss.experimental_set_strategy(None)),
}


@misuse("Strategy.scope left out of order")
def _():
    strategy = mirrored()
    outer, inner = strategy.scope(), strategy.scope()
    with inner:
        outer.__enter__()
        inner.__exit__(None, None, None)


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


@misuse("ReplicaContext.merge_call different closures")
def _():
    def replica():
        number = rank()
        ctx().merge_call(lambda strategy: number)

    mirrored().run(replica)


# Running.


CASES |= {
    "Strategy.run args no tuple": lambda: mirrored().run(lambda one: one, args=3),
    "Strategy.run no function": lambda: mirrored().run(3),
    "Strategy.run kwargs no mapping": lambda: mirrored().run(lambda: 0, kwargs=3),
    "Strategy.run in a replica": using(lambda s: s.run(lambda: s.run(lambda: 0))),
    "Strategy.run too few components": using(lambda s: s.run(lambda one: one, args=(short(s),))),
    "Strategy.run results of unequal length": lambda: mirrored().run(lambda: [0] * rank()),
    "Strategy.run results of other keys": lambda: mirrored().run(lambda: {f"key{rank()}": 0}),
    "Strategy.experimental_run_v2 in a replica": using(lambda s: s.run(lambda: s.experimental_run_v2(lambda: 0))),
    "Strategy.experimental_run no iterator": lambda: mirrored().experimental_run(lambda one: one, 3),
    "StrategyExtended.call_for_each_replica in a replica": using(
        lambda s: s.run(lambda: s.extended.call_for_each_replica(lambda: 0))
    ),
}


# Reducing.


CASES |= {
    "Strategy.reduce unknown op": lambda: mirrored().reduce("max", 1.0),
    "Strategy.reduce op of variables": lambda: mirrored().reduce(ss.VariableAggregation.SUM, 1.0),
    "Strategy.reduce plain value": lambda: mirrored().reduce("SUM", 5.0),
    "Strategy.reduce too few components": using(lambda s: s.reduce("SUM", short(s))),
    "Strategy.reduce unequal shapes": using(
        lambda s: s.reduce("SUM", per_replica(s, lambda index: np.zeros(index + 1, np.float32)))
    ),
    "Strategy.reduce unequal dtypes": using(
        lambda s: s.reduce("SUM", per_replica(s, lambda index: np.zeros(2, ["float32", "int32"][index])))
    ),
    "Strategy.reduce axis out of range": using(lambda s: s.reduce("SUM", per_replica(s), axis=1)),
    "Strategy.reduce axis twice": using(lambda s: s.reduce("SUM", per_replica(s), axis=(0, -1))),
    "Strategy.reduce axis a list": using(lambda s: s.reduce("SUM", per_replica(s), axis=[0])),
    "Strategy.reduce scalar with an axis": using(lambda s: s.reduce("SUM", per_replica(s, np.float32), axis=0)),
    "Strategy.reduce bool": using(lambda s: s.reduce("SUM", per_replica(s, lambda index: np.array([True])))),
    "Strategy.reduce in a replica": using(lambda s: s.run(lambda: s.reduce("SUM", 1.0))),
    "Strategy.gather in a replica": using(lambda s: s.run(lambda: s.gather(1.0, 0))),
    "Strategy.gather scalars": using(lambda s: s.gather(per_replica(s, np.float32), 0)),
    "Strategy.gather unequal ranks": using(
        lambda s: s.gather(per_replica(s, lambda index: np.zeros((2,) * (index + 1), np.float32)), 0)
    ),
    "Strategy.experimental_distribute_values_from_function no function": lambda: (
        mirrored().experimental_distribute_values_from_function(3)
    ),
    "Strategy.experimental_distribute_values_from_function in a replica": using(
        lambda s: s.run(lambda: s.experimental_distribute_values_from_function(lambda context: 0))
    ),
    "Strategy.update_config_proto no config": lambda: mirrored().update_config_proto(3),
    "StrategyExtended.colocate_vars_with outside the scope": using(
        lambda s: s.extended.colocate_vars_with(variable_in(s)).__enter__()
    ),
    "StrategyExtended.variable_created_in_scope of no variable": lambda: mirrored().extended.variable_created_in_scope(
        3
    ),
    "StrategyExtended.read_var of no variable": lambda: mirrored().extended.read_var(3),
    "StrategyExtended.reduce_to no destination": in_scope(lambda s: s.extended.reduce_to("SUM", per_replica(s), None)),
    "StrategyExtended.batch_reduce_to no pairs": in_scope(lambda s: s.extended.batch_reduce_to("SUM", [3])),
    "StrategyExtended.broadcast_to several destinations": in_scope(
        lambda s: s.extended.broadcast_to(np.float32(1), ["sim:0", "sim:1"])
    ),
    "StrategyExtended.update of no variable": in_scope(lambda s: s.extended.update(3, lambda one: one)),
    "StrategyExtended.colocate_vars_with of no variable": in_scope(
        lambda s: s.extended.colocate_vars_with(3).__enter__()
    ),
}


@misuse("Strategy.reduce outside the scope in TF1_13")
def _():
    strategy = mirrored(semantics=ss.Semantics.TF1_13)
    strategy.reduce("SUM", per_replica(strategy))


@misuse("StrategyExtended.worker_devices of the default")
def _():
    _ = ss.get_strategy().extended.worker_devices


# Values.


CASES |= {
    "PerReplica arithmetic": lambda: ss.PerReplica([1, 2]) + 1,
    "PerReplica truth": lambda: bool(ss.PerReplica([1, 2])),
    "PerReplica no list": lambda: ss.PerReplica(3),
}


# Variables.


CASES |= {
    "Variable unknown synchronization": lambda: variable_in(mirrored(), synchronization="SOMETIMES"),
    "Variable unknown aggregation": lambda: variable_in(mirrored(), aggregation="MAX"),
    "Variable synchronization NONE": lambda: variable_in(
        mirrored(), synchronization=ss.VariableSynchronization.NONE, name="v"
    ),
    "Variable other names in replicas": lambda: mirrored().run(lambda: ss.Variable(1.0, name=f"one_{'ab'[rank()]}")),
    "Variable.assign_sub too few components": using(lambda s: variable_in(s, name="one").assign_sub(short(s))),
    "Strategy.save two of one name": using(lambda s: s.save([variable_in(s, name="one"), variable_in(s, name="one")])),
    "Strategy.save of no variable": lambda: mirrored().save([3]),
    "Strategy.restore missing name": using(lambda s: s.restore([variable_in(s, name="one")], {"two": np.float32(1)})),
    "Strategy.restore other shape": using(
        lambda s: s.restore([variable_in(s, name="one")], {"one": np.zeros(2, np.float32)})
    ),
    "Variable mean of integers in TF2": in_scope(
        lambda _: ss.Variable(1, aggregation=ss.VariableAggregation.MEAN, name="count"), semantics=ss.Semantics.TF2
    ),
    "Variable of a text": in_scope(lambda _: ss.Variable("text")),
    "Variable unknown dtype": in_scope(lambda _: ss.Variable(1.0, dtype="float99")),
    "Variable ragged": in_scope(lambda _: ss.Variable([[1.0], [1.0, 2.0]])),
}


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


@misuse("Variable.assign_add replica-local in TF1_13")
def _():
    strategy = mirrored(semantics=ss.Semantics.TF1_13)
    one = variable_in(strategy, synchronization=ss.VariableSynchronization.ON_READ, name="local")
    with strategy.scope():
        one.assign_add(6.0)


@misuse("Variable.assign mean of integers")
def _():
    strategy = mirrored()
    one = variable_in(strategy, 1, aggregation=ss.VariableAggregation.MEAN, name="count")
    strategy.run(lambda: one.assign(np.int32(rank())))


@misuse("Variable.assign_add total of an ON_READ variable")
def _():
    settings = {
        "synchronization": ss.VariableSynchronization.ON_READ,
        "aggregation": ss.VariableAggregation.SUM,
        "name": "total",
    }
    variable_in(mirrored(), **settings).assign_add(1.0)


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


# Data.


CASES |= {
    "Strategy.experimental_distribute_dataset of a text": lambda: mirrored().experimental_distribute_dataset("text"),
    "Strategy.experimental_distribute_dataset of scalars": lambda: list(
        mirrored().experimental_distribute_dataset(ss.data.Dataset.range(3))
    ),
    "Strategy.experimental_distribute_dataset in a replica": using(
        lambda s: s.run(lambda: s.experimental_distribute_dataset([]))
    ),
    "Strategy.experimental_distribute_dataset unknown options": lambda: mirrored().experimental_distribute_dataset(
        ss.data.Dataset.range(3).batch(2), options=3
    ),
    "Strategy.distribute_datasets_from_function no dataset": lambda: mirrored().distribute_datasets_from_function(
        lambda context: 3
    ),
    "Strategy.distribute_datasets_from_function no function": lambda: mirrored().distribute_datasets_from_function(3),
    "Strategy.experimental_make_numpy_dataset unequal lengths": lambda: mirrored().experimental_make_numpy_dataset(
        (np.zeros(2), np.zeros(3))
    ),
    "Strategy.make_input_fn_iterator unknown mode": lambda: mirrored().make_input_fn_iterator(
        lambda context: ss.data.Dataset.range(2), "PER_MOON"
    ),
    "InputContext.get_per_replica_batch_size indivisible": lambda: ss.InputContext(1, 0, 2).get_per_replica_batch_size(
        9
    ),
    "data.Dataset.batch of nothing": lambda: ss.data.Dataset.range(3).batch(0),
    "data.Dataset.batch ragged rows": lambda: list(ss.data.Dataset.range(3).map(lambda x: np.zeros(int(x))).batch(2)),
    "data.Dataset.from_tensor_slices scalars": lambda: ss.data.Dataset.from_tensor_slices(3),
    "data.Dataset.from_tensor_slices unequal lengths": lambda: ss.data.Dataset.from_tensor_slices(
        (np.zeros(2), np.zeros(3))
    ),
    "data.Dataset.shard none of them": lambda: ss.data.Dataset.range(3).shard(2, 2),
    "data.Dataset.shard hint without a policy": lambda: list(ss.data.Dataset.range(3).shard(ss.data.SHARD_HINT, 0)),
    "data.TextLineDataset missing file": lambda: list(ss.data.TextLineDataset(["no such file.txt"])),
    "Strategy.make_dataset_iterator indivisible in TF1_13": in_scope(
        lambda s: s.make_dataset_iterator(ss.data.Dataset.range(6).batch(3)), semantics=ss.Semantics.TF1_13
    ),
}


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


CASES |= {
    "sim.Cluster no workers": lambda: ss.sim.Cluster(0, 1),
    "schedules.Seeded no number": lambda: ss.schedules.Seeded("one"),
    "schedules.Replayed other draw": lambda: ss.schedules.Replayed([("lane", 3, 2)]).choose("lane", 2),
    "nn.compute_average_loss no batch size": lambda: mirrored().run(
        lambda: ss.nn.compute_average_loss(np.float32([1, 2]), global_batch_size=0.5)
    ),
    "check no backends": lambda: ss.check(lambda strategy: 0, backends=[]),
    "check no program": lambda: ss.check(3, backends=["sim"]),
    "nn.compute_average_loss outside replicas": in_scope(lambda _: ss.nn.compute_average_loss(np.float32([1, 2]))),
}
