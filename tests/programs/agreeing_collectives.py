"""Programs of all_reduce and all_gather: operations, dtypes, nests, empty arrays, sizes and control flow."""

import functools
from typing import Any, Final, NamedTuple

import numpy as np
from program_catalogue import Case, eighths, own, register, register_step, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)
replica_function = functools.partial(register_step, PROGRAMS)


class Moments(NamedTuple):
    first: Any
    second: Any


@replica_function()
def all_reduce_sum_and_mean() -> Any:
    ctx = replica()
    return ctx.all_reduce(ss.ReduceOp.SUM, own(2, 3)), ctx.all_reduce(ss.ReduceOp.MEAN, own(2, 3))


@replica_function()
def all_reduce_takes_names_of_operations() -> Any:
    ctx = replica()
    op = "sum" if ctx.replica_id_in_sync_group % 2 else ss.ReduceOp.SUM
    return ctx.all_reduce(op, own(2)), ctx.all_reduce("Mean", own(2))


@replica_function()
def all_reduce_of_integers() -> Any:
    return [replica().all_reduce("SUM", own(3, dtype=dtype)) for dtype in ("int32", "int16", "int8", "uint8")]


@replica_function()
def all_reduce_mean_of_small_integers_is_float32() -> Any:
    return [replica().all_reduce("MEAN", own(3, dtype=dtype)) for dtype in ("int8", "uint8", "int16")]


@replica_function(wide=True)
def all_reduce_mean_of_integers_is_float64() -> Any:
    return replica().all_reduce("MEAN", {"a": own(3, dtype="int32"), "b": own(2, dtype="int64")})


@replica_function(wide=True)
def all_reduce_of_wide_numbers() -> Any:
    ctx = replica()
    large = ctx.xp.asarray(np.asarray([2**40 + ctx.replica_id_in_sync_group], np.int64))
    fine = ctx.xp.asarray(np.asarray([1.0 + 2.0**-40 * ctx.replica_id_in_sync_group]))
    return ctx.all_reduce("SUM", large), ctx.all_reduce("SUM", fine), ctx.all_reduce("MEAN", fine)


@replica_function()
def all_reduce_of_float16() -> Any:
    return replica().all_reduce("SUM", own(4, dtype="float16"))


@replica_function()
def all_reduce_wraps_integers_that_overflow() -> Any:
    return replica().all_reduce("SUM", replica().xp.asarray(np.asarray([100, -100, 127], np.int8)))


@replica_function()
def all_reduce_of_numbers_and_host_data() -> Any:
    ctx = replica()
    rank = ctx.replica_id_in_sync_group
    return ctx.all_reduce("SUM", [rank, rank / 8, np.float32(0.25), eighths(2, start=rank), [1.5]])


@replica_function()
def all_reduce_of_host_data_beside_arrays_of_the_device() -> Any:
    ctx = replica()
    rank = ctx.replica_id_in_sync_group
    value = eighths(2, start=rank) if rank % 2 else own(2)
    return ctx.all_reduce("SUM", value), ctx.all_gather(value, 0)


@replica_function()
def all_reduce_of_arrays_of_another_device() -> Any:
    ctx = replica()
    of_the_first = ctx.merge_call(lambda merging, value: merging.reduce("SUM", value), args=(own(2),))
    return ctx.all_reduce("SUM", of_the_first), ctx.all_reduce("SUM", [of_the_first])


@replica_function()
def all_reduce_of_scalars() -> Any:
    ctx = replica()
    one = ctx.xp.asarray(float(ctx.replica_id_in_sync_group))
    return ctx.all_reduce("SUM", one), ctx.all_reduce("MEAN", one)


@replica_function()
def all_reduce_of_nests_of_every_kind() -> Any:
    ctx = replica()
    nest = {"b": [own(2), (own(1), own(2, 2))], "a": Moments(own(1), {"deep": own(3)})}
    reduced = ctx.all_reduce("SUM", nest)
    assert isinstance(reduced["a"], Moments)
    return reduced, ctx.all_reduce("MEAN", (own(2),)), ctx.all_reduce("SUM", [own(1)])


@replica_function()
def all_reduce_of_a_nest_of_several_dtypes() -> Any:
    return replica().all_reduce("SUM", {"count": own(1, dtype="int32"), "total": own(2), "half": own(1) * 0.5})


@replica_function()
def all_reduce_of_nothing() -> Any:
    ctx = replica()
    reduced = ctx.all_reduce("SUM", {"none": [], "empty": own(0), "flat": own(2, 0, 3)})
    return reduced, repr(ctx.all_reduce("SUM", ())), ctx.all_reduce("MEAN", own(0))


@replica_function()
def all_reduce_of_many_elements() -> Any:
    return replica().all_reduce("SUM", own(20_011))


@replica_function()
def collectives_in_a_row() -> Any:
    ctx = replica()
    total = ctx.all_reduce("SUM", own(3))
    share = ctx.all_reduce("SUM", total * (ctx.replica_id_in_sync_group + 1.0))
    return ctx.all_reduce("SUM", ctx.all_gather(share, 0)), total


@replica_function()
def collectives_in_a_loop() -> Any:
    ctx = replica()
    value = own(2, 2)
    for _ in range(4):
        value = ctx.xp.matmul(value, ctx.xp.eye(2)) * 0.5 + ctx.all_reduce("SUM", value) * 0.25
    return value


@replica_function()
def results_of_collectives_are_not_shared() -> Any:
    ctx = replica()
    total = ctx.all_reduce("SUM", own(3))
    return total, total + float(ctx.replica_id_in_sync_group), total


@replica_function()
def all_gather_of_equal_sizes() -> Any:
    return [replica().all_gather(own(2, 3), axis) for axis in (0, 1, -1, -2)]


@replica_function()
def all_gather_of_uneven_sizes() -> Any:
    ctx = replica()
    size = ctx.replica_id_in_sync_group + 1
    return ctx.all_gather(own(size), 0), ctx.all_gather(own(2, size), 1), ctx.all_gather(own(1, size, 2), -2)


@replica_function()
def all_gather_of_empty_parts() -> Any:
    ctx = replica()
    size = ctx.replica_id_in_sync_group % 2
    return ctx.all_gather(own(size, 2), 0), ctx.all_gather(own(0, 2), 0), ctx.all_gather(own(2, 0), 0)


@replica_function()
def all_gather_of_nests_and_dtypes() -> Any:
    ctx = replica()
    size = ctx.replica_id_in_sync_group + 1
    truth = ctx.xp.equal(own(size, dtype="int32"), 1)
    return ctx.all_gather({"i": own(size, dtype="int32"), "f": [own(2)], "b": (truth,)}, 0)


@replica_function(wide=True)
def all_gather_of_wide_numbers() -> Any:
    return replica().all_gather([own(2, dtype="int64"), own(1, dtype="float64")], 0)


@replica_function()
def all_gather_then_reduce() -> Any:
    ctx = replica()
    everyone = ctx.all_gather(own(ctx.replica_id_in_sync_group + 1, 2), 0)
    return ctx.xp.sum(everyone, axis=0), ctx.all_reduce("SUM", ctx.xp.max(everyone, axis=0))


@replica_function()
def branches_by_replica_that_meet_on_one_line() -> Any:
    ctx = replica()
    if ctx.replica_id_in_sync_group == 0:
        value = ctx.xp.zeros((2,))
    elif ctx.replica_id_in_sync_group % 2:
        value = own(2)
    else:
        value = -own(2)
    return ctx.all_reduce("SUM", value)


@program()
def branches_by_replica_that_meet_from_two_lines(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        ctx = replica()
        if ctx.replica_id_in_sync_group % 2:
            return ctx.all_reduce("SUM", own(2))
        return ctx.all_reduce("SUM", own(2) * 2.0)

    return strategy.run(step), strategy.run(step)


@replica_function()
def loop_counts_that_follow_from_a_collective() -> Any:
    ctx = replica()
    value = own(2)
    rounds = 0
    while float(ctx.xp.max(ctx.all_reduce("SUM", value))) > 0.125:
        value, rounds = value * 0.5, rounds + 1
    return value, rounds


@replica_function()
def errors_that_a_replica_handles_itself() -> Any:
    ctx = replica()
    try:
        share = 8 // ctx.replica_id_in_sync_group
    except ZeroDivisionError:
        share = 0
    return ctx.all_reduce("SUM", ctx.xp.asarray([share]))
