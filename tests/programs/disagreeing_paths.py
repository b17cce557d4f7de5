"""Programs whose replicas take different paths: more meetings or fewer, another order, other variables, inner runs."""

import functools
from typing import Any, Final

from disagreement import Disagreement, disagrees, is_last, step_disagrees
from program_catalogue import eighths, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Disagreement]] = {}
program = functools.partial(disagrees, PROGRAMS)
replica_function = functools.partial(step_disagrees, PROGRAMS)


def own(*shape: int) -> Any:
    """Returns this replica's input, on its device: zeros on replica 0, ones on replica 1, and so on."""
    return replica().xp.full(shape, float(replica().replica_id_in_sync_group))


def variable(strategy: ss.Strategy, name: str, **options: Any) -> Any:
    """Returns a variable [2] whose writes are summed, unless told otherwise."""
    with strategy.scope():
        return ss.Variable(eighths(2), name=name, **{"aggregation": ss.VariableAggregation.SUM, **options})


@program("all_reduce SUM float32[1] at <second>", last="returned from step (<step>)")
def one_collective_less(strategy: ss.Strategy) -> Any:
    def step() -> Any:  # <step>
        total = replica().all_reduce("SUM", own(1))
        if is_last():
            return total
        return replica().all_reduce("SUM", total)  # <second>

    return strategy.run(step)


@program("returned from step (<step>)", last="all_reduce SUM float32[1] at <second>")
def one_collective_more(strategy: ss.Strategy) -> Any:
    def step() -> Any:  # <step>
        total = replica().all_reduce("SUM", own(1))
        if is_last():
            total = replica().all_reduce("SUM", total)  # <second>
        return total

    return strategy.run(step)


@program("all_reduce SUM float32[1] at <here>", first="returned from step (<step>)")
def an_early_return(strategy: ss.Strategy) -> Any:
    def step() -> Any:  # <step>
        if replica().replica_id_in_sync_group == 0:
            return own(1)
        return replica().all_reduce("SUM", own(1))  # <here>

    return strategy.run(step)


@program("merge_call merge (<merge>) ((*,), {}) at <here>", last="returned from step (<step>)")
def a_merge_call_that_one_leaves_out(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, value: Any) -> Any:  # <merge>
        return value

    def step() -> Any:  # <step>
        return None if is_last() else replica().merge_call(merge, args=(own(1),))  # <here>

    return strategy.run(step)


@program("all_reduce SUM float32[1] at <loop>", first="returned from step (<step>)")
def loops_that_depend_on_each_replicas_data(strategy: ss.Strategy) -> Any:
    def step() -> Any:  # <step>
        value = own(1)
        while float(replica().xp.sum(value)) > 0.0:
            value = replica().all_reduce("SUM", value) * 0.0  # <loop>
        return value

    return strategy.run(step)


@replica_function("all_reduce SUM float32[1] at <small>", last="all_reduce MEAN float32[1] at <large>")
def branches_that_depend_on_each_replicas_data() -> Any:
    ctx = replica()
    if bool(ctx.xp.all(own(1) >= ctx.num_replicas_in_sync - 1.0)):
        return ctx.all_reduce("MEAN", own(1))  # <large>
    return ctx.all_reduce("SUM", own(1))  # <small>


@replica_function("all_reduce SUM float32[1] at <one>", last="all_gather axis=0 float32[?] at <two>")
def two_collectives_in_the_other_order() -> Any:
    calls = [
        lambda: replica().all_reduce("SUM", own(1)),  # <one>
        lambda: replica().all_gather(own(1), 0),  # <two>
    ]
    return [call() for call in (reversed(calls) if is_last() else calls)]


@program("all_reduce SUM int32[] at <here>", last="returned from step (<step>)")
def a_replica_handles_its_error_and_leaves_a_collective_out(strategy: ss.Strategy) -> Any:
    def step() -> Any:  # <step>
        ctx = replica()
        left = ctx.num_replicas_in_sync - 1 - ctx.replica_id_in_sync_group
        try:
            share = 12 // left
        except ZeroDivisionError:
            return 0
        return ctx.all_reduce("SUM", share)  # <here>

    return strategy.run(step)


@program("assign_add total SUM float32[2] at <write>", last="all_reduce SUM float32[2] at <reduce>")
def a_variable_against_a_collective(strategy: ss.Strategy) -> Any:
    total = variable(strategy, "total")

    def step() -> Any:
        if is_last():
            return replica().all_reduce("SUM", own(2))  # <reduce>
        return total.assign_add(own(2))  # <write>

    return strategy.run(step)


@program("assign second SUM float32[2] at <here>", first="assign first SUM float32[2] at <here>")
def different_variables(strategy: ss.Strategy) -> Any:
    first, second = variable(strategy, "first"), variable(strategy, "second")

    def step() -> Any:
        one = second if replica().replica_id_in_sync_group else first
        return one.assign(own(2)) and None  # <here>

    return strategy.run(step)


@program("assign_add total SUM float32[2] at <here>", last="assign total SUM float32[2] at <here>")
def assign_against_assign_add(strategy: ss.Strategy) -> Any:
    total = variable(strategy, "total")
    return strategy.run(lambda: (total.assign if is_last() else total.assign_add)(own(2)))  # <here>


@program("assign_add total SUM float32[2] at <here>", first="assign_sub total SUM float32[2] at <here>")
def assign_sub_against_assign_add(strategy: ss.Strategy) -> Any:
    total = variable(strategy, "total")

    def step() -> Any:
        write = total.assign_add if replica().replica_id_in_sync_group else total.assign_sub
        return write(own(2))  # <here>

    return strategy.run(step)


@program("assign mean MEAN float32[2] at <here>", last="returned from step (<step>)")
def a_write_that_one_leaves_out(strategy: ss.Strategy) -> Any:
    mean = variable(strategy, "mean", aggregation=ss.VariableAggregation.MEAN)

    def step() -> Any:  # <step>
        return None if is_last() else mean.assign(own(2))  # <here>

    return strategy.run(step)


@program("returned from step (<step>)", first="assign of_the_first ONLY_FIRST_REPLICA float32[2] at <here>")
def a_write_by_the_first_replica_alone(strategy: ss.Strategy) -> Any:
    one = variable(strategy, "of_the_first", aggregation=ss.VariableAggregation.ONLY_FIRST_REPLICA)

    def step() -> Any:  # <step>
        return None if replica().replica_id_in_sync_group else one.assign(own(2))  # <here>

    return strategy.run(step)


@program("assign_add first SUM float32[2] at <write>", last="assign_add second SUM float32[2] at <write>")
def two_variables_in_the_other_order(strategy: ss.Strategy) -> Any:
    first, second = variable(strategy, "first"), variable(strategy, "second")

    def step() -> Any:
        for one in (second, first) if is_last() else (first, second):
            one.assign_add(own(2))  # <write>

    return strategy.run(step)


@program("all_reduce SUM float32[2] at <here>", last="all_reduce MEAN float32[2] at <here>")
def another_operation_in_an_inner_run(strategy: ss.Strategy) -> Any:
    def inner(value: Any) -> Any:
        return replica().all_reduce("MEAN" if is_last() else "SUM", value)  # <here>

    def step() -> Any:
        return replica().merge_call(lambda merging, value: merging.run(inner, args=(value,)), args=(own(2),))

    return strategy.run(step)


@program("all_reduce SUM float32[2] at <here>", last="returned from inner (<inner>)")
def an_early_return_from_an_inner_run(strategy: ss.Strategy) -> Any:
    def inner(value: Any) -> Any:  # <inner>
        return value if is_last() else replica().all_reduce("SUM", value)  # <here>

    def step() -> Any:
        merged = replica().merge_call(lambda merging, value: merging.run(inner, args=(value,)), args=(own(2),))
        return replica().all_reduce("SUM", merged)

    return strategy.run(step)


@program(
    "merge_call merge (<merge>) with level=2 ((), {}) at <here>",
    last="merge_call merge (<merge>) with level=3 ((), {}) at <here>",
)
def another_merge_function_two_levels_deep(strategy: ss.Strategy) -> Any:
    def innermost() -> Any:
        level = 3 if is_last() else 2

        def merge(_: ss.Strategy) -> Any:  # <merge>
            return level

        return replica().merge_call(merge)  # <here>

    def step() -> Any:
        return replica().merge_call(lambda merging: merging.run(innermost))

    return strategy.run(step)


@program("all_reduce SUM float32[1] at <here>", last="all_reduce SUM float32[2] at <here>")
def a_disagreement_after_many_agreements(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        for count in range(5):
            replica().all_reduce("SUM", own(2 if count == 4 and is_last() else 1))  # <here>

    strategy.run(lambda: replica().all_reduce("SUM", own(1)))
    return strategy.run(step)
