"""Programs that end in an exception, a replica's own or one of ours: class and text are what is compared."""

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from program_catalogue import Case, eighths, per_replica, register, register_step, replica, variable

import simstrategy as ss
from simstrategy.strategy import group_of

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
# Every worker of a cluster fails for itself, and hears of the others in other words.
program = functools.partial(register, PROGRAMS, cluster="own")
replica_function = functools.partial(register_step, PROGRAMS, cluster="own")

Aggregation = ss.VariableAggregation
ON_READ = ss.VariableSynchronization.ON_READ


class OutOfPaper(Exception):
    """A user's own exception, with more than a text."""

    def __init__(self, sheets: int) -> None:
        Exception.__init__(self, f"{sheets} sheets are left")
        self.sheets = sheets


def message(call: Callable[[], Any]) -> tuple[str, str]:
    """Returns class and text of the error of a call that fails before it asks anything of other workers."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
        return type(error).__name__, str(error)
    return "none", ""


@replica_function()
def a_replica_raises_before_it_meets_the_others() -> Any:
    ctx = replica()
    if ctx.replica_id_in_sync_group == ctx.num_replicas_in_sync - 1:
        raise ValueError("the last replica had enough")
    return ctx.all_reduce("SUM", eighths(2))


@replica_function()
def a_replica_raises_an_exception_of_its_own_class() -> Any:
    ctx = replica()
    total = ctx.all_reduce("SUM", np.float32(0.5))
    if ctx.replica_id_in_sync_group == 0:
        raise OutOfPaper(3)
    return ctx.all_reduce("SUM", total)


@program()
def a_replica_raises_where_nobody_meets(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: {"a": 1}[f"replica {replica().replica_id_in_sync_group}"])


@program()
def a_merge_function_raises(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, value: Any) -> Any:
        raise LookupError(f"no such {type(value).__name__ != 'int' and 'thing'}")

    return strategy.run(lambda: replica().merge_call(merge, args=("text",)))


@program()
def a_run_inside_a_merge_call_raises(strategy: ss.Strategy) -> Any:
    def inner() -> Any:
        replica().all_reduce("SUM", 1.0)
        raise OutOfPaper(replica().num_replicas_in_sync)

    return strategy.run(lambda: replica().merge_call(lambda merging: merging.run(inner)))


@program()
def the_program_raises_between_runs(strategy: ss.Strategy) -> Any:
    strategy.run(lambda: replica().all_reduce("SUM", 1.0))
    raise OutOfPaper(0)


@program()
def an_error_that_the_program_handles(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        raise OutOfPaper(2)

    try:
        strategy.run(step)
    except OutOfPaper as error:
        return error.sheets, strategy.run(lambda: replica().all_reduce("SUM", 0.5))


@program()
def calls_that_a_replica_may_not_make(strategy: ss.Strategy) -> Any:
    dataset = strategy.experimental_distribute_dataset([eighths(4)])
    steps = iter(dataset)

    def step() -> Any:
        return [
            message(lambda: strategy.run(step)),
            message(lambda: strategy.reduce("SUM", 1.0)),
            message(lambda: strategy.scope().__enter__()),
            message(lambda: strategy.experimental_distribute_dataset([])),
            message(lambda: ss.Variable(1.0)),
            message(lambda: next(steps)),
            message(lambda: iter(dataset)),
        ]

    return strategy.run(step)


@program()
def calls_that_only_a_replica_may_make(strategy: ss.Strategy) -> Any:
    kept: list[ss.ReplicaContext] = []
    strategy.run(lambda: kept.append(replica()))
    ctx = kept[0]
    return [
        message(lambda: ctx.all_reduce("SUM", 1.0)),
        message(lambda: ctx.all_gather(eighths(1), 0)),
        message(lambda: ctx.merge_call(lambda _: None)),
        message(lambda: ss.Variable(1.0)),
        message(ss.get_strategy),
        message(ss.get_replica_context),
    ]


@program()
def a_context_of_another_replica(strategy: ss.Strategy) -> Any:
    kept: list[ss.ReplicaContext] = []

    def step() -> Any:
        kept.append(replica())
        return message(lambda: kept[0].all_reduce("SUM", 1.0)) if len(kept) > 1 else None

    return strategy.run(step)


@program()
def run_of_what_cannot_run(strategy: ss.Strategy) -> Any:
    anything: Any = strategy
    return [
        message(lambda: anything.run("text")),
        message(lambda: anything.run(lambda: 1, args=1)),
        message(lambda: anything.run(lambda one: one, args=(ss.PerReplica([]),))),
    ]


@program()
def operations_and_axes_that_do_not_exist(strategy: ss.Strategy) -> Any:
    anything: Any = strategy
    value = per_replica(strategy, lambda rank: eighths(2, 2))
    return [
        message(lambda: anything.reduce("PRODUCT", value)),
        message(lambda: anything.reduce(3, value)),
        message(lambda: anything.reduce("SUM", value, axis=1.5)),
        message(lambda: anything.reduce("SUM", value, axis=True)),
        message(lambda: anything.reduce("SUM", value, axis=2)),
        message(lambda: anything.reduce("SUM", value, axis=-3)),
        message(lambda: anything.reduce("MEAN", value, axis=(0, -2))),
        message(lambda: anything.reduce("SUM", per_replica(strategy, lambda rank: 1.0), axis=0)),
    ]


@program()
def reduce_of_what_cannot_be_added(strategy: ss.Strategy) -> Any:
    shapes = per_replica(strategy, lambda rank: eighths(rank + 1))
    dtypes = per_replica(strategy, lambda rank: eighths(2, dtype="int32" if rank % 2 else "float32"))
    sides = per_replica(strategy, lambda rank: eighths(2, rank + 1))
    bools = per_replica(strategy, lambda rank: np.asarray([True]))
    texts = per_replica(strategy, lambda rank: "text")
    count = len(group_of(strategy).local_devices)
    return [
        message(lambda: strategy.reduce("SUM", shapes)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", dtypes, axis=0)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", sides, axis=0)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", bools)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", texts)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", 2.5)) if count > 1 else None,
        message(lambda: strategy.reduce("SUM", ss.PerReplica([1.0] * (count + 1)))),
    ]


@program()
def all_reduce_of_bool(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", replica().xp.asarray([True])))


@replica_function()
def all_reduce_of_texts_and_objects() -> Any:
    ctx = replica()
    values: list[Any] = ["text", [1.0, "text"], None]
    return [message(functools.partial(ctx.all_reduce, "SUM", value)) for value in values]


@program()
def all_reduce_by_an_unknown_operation(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("PRODUCT", eighths(2)))


@program()
def all_gather_of_a_scalar(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather(replica().xp.asarray(1.0), 0))


@program()
def all_gather_along_a_missing_axis(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather(replica().xp.asarray(eighths(2, 2)), 2))


@program()
def results_of_different_lengths(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: {"a": [1.0] * (replica().replica_id_in_sync_group + 1)})


@replica_function()
def results_of_different_kinds() -> Any:
    return ({"a": 1}, {"b": 1}, [1], 1)[replica().replica_id_in_sync_group % 4]


@program()
def distributed_values_have_no_arithmetic(strategy: ss.Strategy) -> Any:
    value: Any = per_replica(strategy, float)
    return [
        message(lambda: value + 1.0),
        message(lambda: -value),
        message(lambda: float(value)),
        message(lambda: [*value]),
    ]


@program()
def a_replica_writes_an_unaggregated_variable(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.NONE)
    return strategy.run(lambda: one.assign(eighths(2)))


@program()
def a_replica_writes_another_shape(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM)
    return strategy.run(lambda: one.assign_add(replica().xp.zeros((3,))))


@program()
def a_replica_writes_another_dtype(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.MEAN, synchronization=ON_READ)
    return strategy.run(lambda: one.assign_sub(replica().xp.zeros((2,), dtype="int32")))


@program()
def all_replicas_add_the_very_same_number(strategy: ss.Strategy) -> Any:
    one = variable(strategy, Aggregation.SUM, np.asarray(1.0, np.float32))
    return strategy.run(lambda: one.assign_add(0.25))


@program()
def variables_that_cannot_be_made(strategy: ss.Strategy) -> Any:
    synchronization = ss.VariableSynchronization.NONE
    return [
        message(lambda: variable(strategy, "SUM")),
        message(lambda: variable(strategy, Aggregation.SUM, synchronization=synchronization)),
        message(lambda: variable(strategy, Aggregation.SUM, synchronization="ON_READ")),
        message(lambda: variable(strategy, Aggregation.SUM, "text")),
    ]


@program()
def writes_between_runs_that_are_refused(strategy: ss.Strategy) -> Any:
    total = variable(strategy, Aggregation.SUM, synchronization=ON_READ)
    count = variable(strategy, Aggregation.SUM, np.asarray(3, np.int32), synchronization=ON_READ)
    alone = variable(strategy, Aggregation.NONE, synchronization=ON_READ)
    plain = variable(strategy, Aggregation.MEAN)
    return [
        message(lambda: total.assign_add([1.0, 1.0])),
        message(lambda: total.assign(per_replica(strategy, lambda rank: eighths(2)))),
        message(lambda: count.assign(4)),
        message(alone.value),
        message(lambda: plain.assign(eighths(3))),
        message(lambda: plain.assign(ss.PerReplica([eighths(2)] * 7))),
    ]


@program()
def datasets_that_cannot_be_distributed(strategy: ss.Strategy) -> Any:
    several = strategy.num_replicas_in_sync > 1
    return [
        message(lambda: strategy.experimental_distribute_dataset("text")),
        message(lambda: strategy.experimental_distribute_dataset(3)),
        message(lambda: next(iter(strategy.experimental_distribute_dataset([np.float32(1)])))) if several else None,
    ]
