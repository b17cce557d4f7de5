"""Portable programs on the real strategies, beside the simulator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import simstrategy as ss
from simstrategy.errors import InvalidArgument, PeerFailed, Unsupported
from simstrategy_tf_distribute import ReferenceStrategy, open_reference, run_workers

COUNT = 2
PROGRAM = Path(__file__).with_name("reference_program.py")


@pytest.fixture(scope="module")
def reference() -> ReferenceStrategy:
    return open_reference("mirrored", COUNT)


def host(value: Any) -> Any:
    if isinstance(value, (ss.PerReplica, ss.Mirrored)):
        return [type(value).__name__, *map(host, value.values)]
    if isinstance(value, (list, tuple)):
        return [host(one) for one in value]
    array = np.asarray(value)
    return array.dtype.name, array.tolist()


def program(strategy: Any) -> Any:
    with strategy.scope():
        total = ss.Variable(np.float32([1, 2]), aggregation=ss.VariableAggregation.SUM)
        seen = ss.Variable(
            0, synchronization=ss.VariableSynchronization.ON_READ, aggregation=ss.VariableAggregation.SUM
        )

    def merged(merging: Any, value: Any) -> Any:
        return merging.reduce(ss.ReduceOp.SUM, value)

    def step(batch: Any) -> Any:
        context = ss.get_replica_context()
        xp, rank = context.xp, context.replica_id_in_sync_group
        total.assign_add(xp.multiply(xp.ones(2), rank + 1))
        seen.assign_add(xp.astype(xp.sum(xp.ones_like(batch)), "int32"))
        own = {"mean": context.all_reduce("MEAN", xp.sum(batch)), "all": context.all_gather(batch, axis=0)}
        return own["mean"], own["all"], context.merge_call(merged, args=(xp.max(batch),)), total.value()

    out = []
    data = ss.data.Dataset.from_tensor_slices(np.arange(10, dtype=np.float32)).batch(4)
    for batch in strategy.experimental_distribute_dataset(data):
        results = strategy.run(step, args=(batch,))
        out += [results, strategy.reduce("SUM", batch, axis=0), strategy.reduce("MEAN", batch, axis=0)]
        out += [strategy.gather(results[1], axis=0)]
    return out, seen.numpy(), strategy.experimental_local_results(total)


@pytest.mark.slow
def test_a_portable_program_gives_equal_results_on_the_reference_strategy_and_the_simulator(
    reference: ReferenceStrategy,
) -> None:
    simulated = program(ss.Strategy.mirrored("sim", replicas=COUNT, semantics=ss.Semantics.TF2))
    assert host(reference.run_program(program)) == host(simulated)


def look(strategy: Any) -> Any:
    def inside() -> Any:
        context = ss.get_replica_context()
        return [ss.has_strategy(), ss.in_cross_replica_context(), context.num_replicas_in_sync]

    with strategy.scope():
        return [ss.has_strategy(), ss.in_cross_replica_context(), ss.get_strategy() is strategy, strategy.run(inside)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mirrored", "one_device", "central_storage"])
def test_contexts_of_every_kind_are_as_the_simulators(kind: Any) -> None:
    count = 1 if kind == "one_device" else COUNT
    simulated = getattr(ss.Strategy, kind)("sim", replicas=count, semantics=ss.Semantics.TF2)
    assert host(open_reference(kind, count).run_program(look)) == host(look(simulated))


def shared_object(strategy: Any) -> Any:
    shared = strategy.xp.ones(1)
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", shared))  # type: ignore[union-attr]


def test_the_reference_strategy_corrects_nothing(reference: ReferenceStrategy) -> None:
    # Clauses: R-7: TensorFlow returns an object that all replicas share un-summed, and we do not.
    assert host(reference.run_program(shared_object))[-1] == ("float32", [1.0])
    assert host(shared_object(ss.Strategy.mirrored("sim", replicas=COUNT)))[-1] == ("float32", [2.0])


def test_a_name_that_tensorflow_does_not_have_raises(reference: ReferenceStrategy) -> None:
    def asking(strategy: Any) -> Any:
        return strategy.run(lambda: ss.get_replica_context().seed("x"))  # type: ignore[union-attr]

    with pytest.raises(Unsupported, match="gives replicas no seeds"):
        reference.run_program(asking)


def test_an_unknown_kind_of_reference_strategy_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="There is no reference strategy 'tpu'; choose from mirrored"):
        open_reference("tpu", 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="has one replica, not 2"):
        open_reference("one_device", 2)
    with pytest.raises(InvalidArgument, match="run_workers"):
        open_reference("multi_worker", 2)
    with pytest.raises(InvalidArgument, match="takes a plain function"):
        open_reference("one_device").run_program(tf.function(look))


@pytest.mark.deep
@pytest.mark.slow
def test_two_processes_of_the_real_multi_worker_strategy_equal_a_simulated_cluster() -> None:
    namespace: dict[str, Any] = {}
    exec(PROGRAM.read_text(), namespace)
    expected = ss.sim.Cluster(2, 1, semantics=ss.Semantics.TF2).run(namespace["program"])
    for ours, theirs in zip(expected, run_workers(PROGRAM, workers=2), strict=True):
        assert {key: host(value) for key, value in theirs.items()} == {key: host(value) for key, value in ours.items()}


@pytest.mark.slow
@pytest.mark.deep
def test_a_worker_that_fails_is_named_with_what_it_said() -> None:
    with pytest.raises(PeerFailed, match=r"(?s)Worker 0 ended with code 1:.*KeyError: 'no such thing'"):
        run_workers(PROGRAM, workers=1, function="failing")


def test_workers_want_a_file_and_a_number() -> None:
    with pytest.raises(InvalidArgument, match=r"there is none at /.*missing\.py"):
        run_workers("missing.py")
    with pytest.raises(InvalidArgument, match="at least 1, got 0"):
        run_workers(PROGRAM, workers=0)
