"""Calls every public name with values whose repr differs from run to run, and prints what it raises.

A program: `test_awkward_values.py` runs it under two hash seeds. Each call is made with each awkward value; where
nothing is raised, nothing is printed.
"""

import re
import sys
import types
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))

import simstrategy as ss
from simstrategy.data import Dataset
from simstrategy.errors import SimStrategyError, SimStrategyWarning
from simstrategy.strategy.library.session_config import updated_config  # noqa: F401 - imported as users' code does


class Plain:
    """An object with the default repr."""

    def method(self):
        return self


def generator():
    yield 1


def awkward():
    """Returns new values by name."""
    return {
        "object": Plain(),
        "lambda": lambda x, y, z: None,
        "method": Plain().method,
        "set": {"alpha", "beta", "gamma", "delta"},
        "frozenset": frozenset({"alpha", "beta", "gamma"}),
        "set of objects": {Plain(), Plain()},
        "nested set": [{"names": {"alpha", "beta", "gamma"}}],
        "list of objects": [Plain(), Plain()],
        "dict": {Plain(): Plain()},
        "module": types.ModuleType("module"),
        "generator": generator(),
        "array of objects": np.array([Plain(), Plain()], dtype=object),
        "array": np.zeros((2, 3)),
        "namespace": types.SimpleNamespace(one=Plain(), names={"a", "b", "c"}),
        "text": "text",
        "none": None,
        "class": Plain,
    }


def in_replica(call):
    """Returns a function that makes a call inside a replica."""
    return lambda strategy, value: strategy.run(lambda: call(ss.get_replica_context(), value))


def with_variable(call, **settings):
    """Returns a function that makes a call on a new variable, in its scope."""

    def made(strategy, value):
        with strategy.scope():
            return call(ss.Variable(1.0, name="w", **settings), value)

    return made


def keyword(name):
    return lambda _, value: ss.Strategy.mirrored("sim", **{"replicas": 2, name: value})


SUM = ss.VariableAggregation.SUM
CALLS = {
    **{
        f"mirrored {name}": keyword(name) for name in ("replicas", "devices", "semantics", "checks", "executor", "seed")
    },
    "mirrored backend": lambda _, value: ss.Strategy.mirrored(value),
    "backend": lambda _, value: ss.backend("sim", replicas=value),
    "backend order": lambda _, value: ss.backend("sim", replicas=2, order=value),
    "Seeded": lambda _, value: ss.schedules.Seeded(value),
    "PerReplica": lambda _, value: ss.PerReplica(value),
    "run fn": lambda strategy, value: strategy.run(value),
    "run args": lambda strategy, value: strategy.run(lambda *_: None, args=value),
    "run kwargs": lambda strategy, value: strategy.run(lambda **_: None, kwargs=value),
    "compile": lambda strategy, value: strategy.compile(value),
    "experimental_run": lambda strategy, value: strategy.experimental_run(lambda x: x, value),
    "reduce op": lambda strategy, value: strategy.reduce(value, 1.0),
    "reduce value": lambda strategy, value: strategy.reduce("SUM", value),
    "reduce axis": lambda strategy, value: strategy.reduce("SUM", np.zeros(3), value),
    "reduce components": lambda strategy, value: strategy.reduce("SUM", ss.PerReplica([value, value])),
    "reduce few": lambda strategy, value: strategy.reduce("SUM", ss.PerReplica([value])),
    "gather value": lambda strategy, value: strategy.gather(ss.PerReplica([value, value]), 0),
    "gather axis": lambda strategy, value: strategy.gather(ss.PerReplica([np.zeros(2)] * 2), value),
    "values from function": lambda strategy, value: strategy.experimental_distribute_values_from_function(value),
    "distribute": lambda strategy, value: next(iter(strategy.experimental_distribute_dataset(value))),
    "distribute options": lambda strategy, value: strategy.experimental_distribute_dataset(Dataset.range(4), value),
    "distribute function": lambda strategy, value: strategy.distribute_datasets_from_function(value),
    "input_fn": lambda strategy, value: strategy.make_input_fn_iterator(value),
    "input_fn mode": lambda strategy, value: strategy.make_input_fn_iterator(lambda _: Dataset.range(3), value),
    "config": lambda strategy, value: strategy.update_config_proto(value),
    "save": lambda strategy, value: strategy.save(value),
    "save one": lambda strategy, value: strategy.save([value]),
    "restore": with_variable(lambda one, value: one.state.group.owner.restore([one], value)),
    "restore value": with_variable(lambda one, value: one.state.group.owner.restore([one], {"w": value})),
    "set_strategy": lambda _, value: ss.experimental_set_strategy(value),
    "variable": with_variable(lambda _, value: ss.Variable(value)),
    "variable dtype": with_variable(lambda _, value: ss.Variable(1.0, dtype=value)),
    "variable aggregation": with_variable(lambda _, value: ss.Variable(1.0, aggregation=value)),
    "variable synchronization": with_variable(lambda _, value: ss.Variable(1.0, synchronization=value)),
    "assign": with_variable(lambda one, value: one.assign(value)),
    "assign components": with_variable(lambda one, value: one.assign(ss.PerReplica([value, value]))),
    "assign in replica": lambda strategy, value: with_variable(
        lambda one, _: strategy.run(lambda: one.assign(value)), aggregation=SUM
    )(strategy, None),
    "all_reduce op": in_replica(lambda ctx, value: ctx.all_reduce(value, 1.0)),
    "all_reduce value": in_replica(lambda ctx, value: ctx.all_reduce("SUM", value)),
    "all_reduce name": in_replica(lambda ctx, value: ctx.all_reduce("SUM", 1.0, name=value)),
    "all_gather value": in_replica(lambda ctx, value: ctx.all_gather(value, 0)),
    "all_gather axis": in_replica(lambda ctx, value: ctx.all_gather(np.zeros(2), value)),
    "merge_call fn": in_replica(lambda ctx, value: ctx.merge_call(value)),
    "merge_call args": in_replica(lambda ctx, value: ctx.merge_call(lambda *_: None, args=value)),
    "merge_call kwargs": in_replica(lambda ctx, value: ctx.merge_call(lambda *_, **__: None, kwargs=value)),
    "merge_call held": in_replica(
        lambda ctx, value: ctx.merge_call(lambda _, v=value, r=ctx.replica_id_in_sync_group: r)
    ),
    "structure": in_replica(
        lambda ctx, value: ctx.all_reduce("SUM", {value: 1.0} if ctx.replica_id_in_sync_group else 1.0)
    ),
    "raised": in_replica(
        lambda ctx, value: ctx.merge_call(lambda *_: 1) if ctx.replica_id_in_sync_group == 0 else fail(value)
    ),
    "results": lambda strategy, value: strategy.run(
        lambda: {value: 1} if ss.get_replica_context().replica_id_in_sync_group else {1: value}
    ),
    "seed": in_replica(lambda ctx, value: ctx.seed(value)),
    "asarray": lambda strategy, value: strategy.xp.asarray(value),
    "dtype": lambda strategy, value: strategy.xp.zeros(2, dtype=value),
    "reduce_to": lambda strategy, value: strategy.extended.reduce_to("SUM", ss.PerReplica([1.0, 1.0]), value),
    "batch_reduce_to": lambda strategy, value: strategy.extended.batch_reduce_to("SUM", value),
    "broadcast_to": lambda strategy, value: strategy.extended.broadcast_to(1.0, value),
    "update": lambda strategy, value: strategy.extended.update(value, lambda x: x),
    "update fn": with_variable(lambda one, value: one.state.group.owner.extended.update(one, value)),
    "update args": with_variable(
        lambda one, value: one.state.group.owner.extended.update(one, lambda *_: None, args=value)
    ),
    "update_non_slot": lambda strategy, value: strategy.extended.update_non_slot(value, lambda: None),
    "non_slot_devices": lambda strategy, value: strategy.extended.non_slot_devices(value),
    "read_var": lambda strategy, value: strategy.extended.read_var(value),
    "created_in_scope": lambda strategy, value: strategy.extended.variable_created_in_scope(value),
    "colocate": lambda strategy, value: strategy.extended.colocate_vars_with(value).__enter__(),
    "average_loss": lambda _, value: ss.nn.compute_average_loss(np.zeros(2), global_batch_size=value),
    "cluster": lambda _, value: ss.sim.Cluster(value, 1),
    "slices": lambda _, value: next(iter(Dataset.from_tensor_slices(value))),
    "tensors": lambda _, value: next(iter(Dataset.from_tensors(value))),
    "from_generator": lambda _, value: next(iter(Dataset.from_generator(value))),
    "map": lambda _, value: next(iter(Dataset.range(2).map(value))),
    "batch": lambda _, value: Dataset.range(2).batch(value),
    "shuffle seed": lambda _, value: Dataset.range(2).shuffle(2, seed=value),
    "zip": lambda _, value: Dataset.zip(value),
    "with_options": lambda _, value: Dataset.range(2).with_options(value),
}


def fail(value):
    raise ValueError(f"mine: {value!r:.40}")


def texts():
    """Yields a line for each call that raises or warns of the project."""
    for name, call in CALLS.items():
        for kind in awkward():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                strategy = ss.Strategy.mirrored("sim", replicas=2)
                raised = None
                try:
                    call(strategy, awkward()[kind])
                except Exception as error:  # noqa: BLE001 - errors of other classes are of other tests
                    raised = error
                finally:
                    ss.experimental_set_strategy(None)
            found = [one.message for one in caught if isinstance(one.message, SimStrategyWarning)]
            for one in [*found, *([raised] if isinstance(raised, SimStrategyError) else [])]:
                notes = "\n".join(getattr(one, "__notes__", ()))
                yield f"{name}, {kind}: {type(one).__name__}: {one} {notes}"


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    for text in texts():
        print(re.sub(r"\s+", " ", text))  # noqa: T201 - what the test reads
