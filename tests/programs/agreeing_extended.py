"""Programs of gathers, of the calls for libraries, of values made and taken apart, and of losses."""

import functools
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import numpy as np
from program_catalogue import Case, eighths, per_replica, register, replica

import simstrategy as ss
from simstrategy.errors import SimStrategyError
from simstrategy.strategy import group_of

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)
SUM: Final = ss.VariableAggregation.SUM


@contextmanager
def in_tf2(strategy: ss.Strategy) -> Iterator[ss.Strategy]:
    """Gives a strategy with the semantics of TensorFlow 2 on the same group."""
    with closing(ss.Strategy.multi_worker(group_of(strategy).backend, semantics=ss.Semantics.TF2)) as other:
        yield other


def variable(strategy: ss.Strategy, *shape: int, start: int = 0, **settings: Any) -> ss.Variable:
    with strategy.scope():
        return ss.Variable(eighths(*shape, start=start), **settings)


def rank() -> int:
    return replica().replica_id_in_sync_group


def own(strategy: ss.Strategy, *shape: int, dtype: str = "float32") -> Any:
    """Returns an array of each replica's own, made on its device."""
    return strategy.run(lambda: replica().xp.asarray(eighths(*shape, start=rank(), dtype=dtype)))


@program()
def gather_of_parts_of_different_sizes(strategy: ss.Strategy) -> Any:
    rows = per_replica(strategy, lambda one: eighths(one + 1, 2, start=one))
    columns = per_replica(strategy, lambda one: eighths(2, one % 2, start=one))
    return strategy.gather(rows, 0), strategy.gather({"c": [columns]}, axis=-1)


@program()
def gather_of_integers_truths_and_halves(strategy: ss.Strategy) -> Any:
    small = per_replica(strategy, lambda one: eighths(2, start=one, dtype="int8"))
    truths = per_replica(strategy, lambda one: np.array([one % 2 == 0, True]))
    halves = per_replica(strategy, lambda one: eighths(2, start=one, dtype="float16"))
    return strategy.gather([own(strategy, 2, dtype="int32"), small, truths, halves], 0)


@program()
def gather_of_nothing(strategy: ss.Strategy) -> Any:
    return strategy.gather(per_replica(strategy, lambda one: eighths(0, 3)), 0)


@program()
def gather_in_a_merge_call(strategy: ss.Strategy) -> Any:
    def merge(merging: ss.Strategy, value: Any) -> Any:
        return merging.gather(value, 0)

    return strategy.run(lambda: replica().merge_call(merge, args=(replica().xp.asarray(eighths(rank() + 1)),)))


@program()
def gather_of_a_variable(strategy: ss.Strategy) -> Any:
    return strategy.gather(variable(strategy, 2, start=3), 0)


@program(cluster="own")
def gathers_that_cannot_be(strategy: ss.Strategy) -> Any:
    texts = []
    wide = per_replica(strategy, lambda one: eighths(1, one + 1))
    flat = per_replica(strategy, lambda one: eighths(1))
    for value, axis in ((wide, 0), (flat, 1), (flat, "0"), (per_replica(strategy, lambda one: eighths()), 0)):
        try:
            texts.append(strategy.gather(value, axis))  # type: ignore[arg-type]
        except SimStrategyError as error:
            texts.append(f"{type(error).__name__}: {error}")
    return texts


@program()
def results_on_every_device(strategy: ss.Strategy) -> Any:
    value, v = own(strategy, 2), variable(strategy, 1)
    extended = strategy.extended
    whole = own(strategy, 3, dtype="int32")
    return (
        extended.reduce_to("SUM", value, v),
        extended.reduce_to(ss.ReduceOp.MEAN, {"a": [value]}, v),
        extended.batch_reduce_to("SUM", [(value, v), (whole, v)]),
        extended.broadcast_to(eighths(3), v),
        extended.broadcast_to(2.5, v),
    )


@program()
def results_on_one_device(strategy: ss.Strategy) -> Any:
    value, extended = own(strategy, 2), strategy.extended
    last = extended.worker_devices[-1]
    first = strategy.experimental_local_results(value)[0]
    return (
        extended.reduce_to("SUM", value, last),
        extended.reduce_to("MEAN", value, first),
        extended.broadcast_to(eighths(3), last),
    )


@program()
def update_by_a_reduced_gradient(strategy: ss.Strategy) -> Any:
    weights = variable(strategy, 2, aggregation=SUM)

    def apply(component: Any, gradient: Any, *, rate: float) -> Any:
        component.assign_sub(gradient * rate)
        return component.read_value()

    def merge(merging: ss.Strategy, gradient: Any) -> Any:
        total = merging.extended.reduce_to("SUM", gradient, weights)
        return merging.extended.update(weights, apply, args=(total,), kwargs={"rate": 0.5})

    def step() -> Any:
        return replica().merge_call(merge, args=(replica().xp.asarray(eighths(2, start=rank())),))

    return [strategy.run(step) for _ in range(2)], weights.numpy()


@program(cluster="own")
def update_and_what_comes_back(strategy: ss.Strategy) -> Any:
    v, other = variable(strategy, 2, start=1), variable(strategy, 2, start=2, name="other")
    update = strategy.extended.update
    same = update(v, lambda part: part) is v
    apart = update(v, lambda part, given: {"a": [part.assign_add(given).value(), 2]}, args=(other,), group=False)
    return same, list(apart["a"][0]), apart["a"][1], update(v, lambda part: 7)


@program()
def update_of_components_read_together(strategy: ss.Strategy) -> Any:
    v = variable(strategy, 2, synchronization=ss.VariableSynchronization.ON_READ, aggregation=SUM)
    strategy.run(lambda: v.assign(replica().xp.asarray(eighths(2, start=rank()))))
    strategy.extended.update(v, lambda part: part.assign(part.value() * 2.0))
    with strategy.scope():
        return v.read_value(), strategy.extended.read_var(v), strategy.reduce("SUM", v)


@program()
def update_in_replicas_in_tf2(strategy: ss.Strategy) -> Any:
    with in_tf2(strategy) as tf2:
        v = variable(tf2, 2, synchronization=ss.VariableSynchronization.ON_READ, aggregation=SUM)

        def step() -> Any:
            delta = replica().xp.asarray(eighths(2, start=rank()))
            return tf2.extended.update(v, lambda part, given: part.assign_add(given).value(), args=(delta,))

        return tf2.run(step), tf2.run(step), v.read_value()


@program()
def update_of_state_of_no_variable(strategy: ss.Strategy) -> Any:
    v = variable(strategy, 1)
    devices = strategy.extended.non_slot_devices([v])
    made = strategy.extended.update_non_slot(devices, lambda: strategy.xp.asarray(eighths(2)))
    return made, strategy.extended.update_non_slot(devices, lambda one: one, args=(3,), group=False)


@program(cluster="own")
def updates_that_are_refused(strategy: ss.Strategy) -> Any:
    v, texts = variable(strategy, 1), []
    value = per_replica(strategy, lambda one: eighths(1))
    calls = (
        lambda: strategy.extended.update(value, lambda part: None),  # type: ignore[arg-type]
        lambda: strategy.extended.update(v, lambda part, given: None, args=(value,)),
        lambda: strategy.extended.update(v, lambda part: part.assign(eighths(2))),
        lambda: strategy.extended.update_non_slot((), lambda: None),
        lambda: strategy.extended.reduce_to("SUM", v, v),
        lambda: strategy.extended.reduce_to("SUM", value, ""),
        lambda: strategy.extended.broadcast_to(value, v),
        lambda: strategy.extended.batch_reduce_to("SUM", [value]),
    )
    for call in calls:
        try:
            call()
        except SimStrategyError as error:
            # The text may show a device, or an array as its framework writes it.
            texts.append(f"{type(error).__name__}: {str(error)[:24]}")
    return texts


@program()
def values_made_for_each_replica(strategy: ss.Strategy) -> Any:
    values = strategy.experimental_distribute_values_from_function(
        lambda context: {"x": eighths(2, start=context.replica_id_in_sync_group), "n": context.num_replicas_in_sync}
    )
    used = strategy.run(lambda given: replica().xp.asarray(given["x"]) * float(given["n"]), args=(values,))
    return values, used, strategy.reduce("SUM", values["x"])


@program(cluster="own")
def local_results_of_a_nest_in_tf2(strategy: ss.Strategy) -> Any:
    with in_tf2(strategy) as tf2:
        value, v = own(tf2, 2), variable(tf2, 1)
        return tf2.experimental_local_results([value, {"v": v, "plain": 3}]), tf2.unwrap(value)


@program()
def a_mirrored_value_is_captured(strategy: ss.Strategy) -> Any:
    equal = strategy.extended.broadcast_to(eighths(2, start=1), None)
    used = strategy.run(lambda: (equal * 2.0, 1.0 - equal, equal[0], replica().all_reduce("SUM", equal)))
    return used, equal + 1.0


@program()
def a_per_replica_value_is_captured_in_tf2(strategy: ss.Strategy) -> Any:
    with in_tf2(strategy) as tf2:
        value = per_replica(tf2, lambda one: eighths(2, start=one))
        return tf2.run(lambda: (replica().xp.add(value, 1.0), replica().all_reduce("SUM", value)))


@program()
def variables_given_to_collectives(strategy: ss.Strategy) -> Any:
    v = variable(strategy, 2, start=1)
    return strategy.run(lambda: (replica().all_reduce("SUM", v), replica().all_gather(v, 0)))


@program()
def losses_are_shares_of_the_whole_batchs(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        losses = replica().xp.asarray(eighths(4, 2, start=rank()))
        weights = eighths(4, start=1)
        return (
            ss.nn.compute_average_loss(losses, global_batch_size=8),
            ss.nn.compute_average_loss(losses, sample_weight=weights, global_batch_size=16),
            ss.nn.compute_average_loss(losses[:0]),
            ss.nn.scale_regularization_loss(losses) * float(replica().num_replicas_in_sync),
        )

    shares = strategy.run(step)
    return shares, [strategy.reduce("SUM", share) for share in shares]


@program(wide=True)
def losses_in_integers(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: ss.nn.compute_average_loss(eighths(4, dtype="int32"), global_batch_size=8))


@program(cluster="own")
def one_step_of_an_iterator(strategy: ss.Strategy) -> Any:
    batches = strategy.experimental_distribute_dataset([eighths(4), eighths(4, start=4)])
    iterator = iter(batches)
    steps = [strategy.experimental_run(lambda batch: batch * 2.0, iterator) for _ in range(2)]
    return steps, strategy.experimental_run(lambda: None)
