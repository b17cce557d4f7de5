"""Programs of running replicas: arguments, results, merge calls and runs inside them; no reductions of their own."""

import functools
from typing import Any, Final, NamedTuple

from program_catalogue import Case, eighths, per_replica, register, register_step, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Case]] = {}
program = functools.partial(register, PROGRAMS)
replica_function = functools.partial(register_step, PROGRAMS)

SHARED: Final = eighths(3)


class Pair(NamedTuple):
    left: Any
    right: Any


@program()
def run_with_positional_and_keyword_arguments(strategy: ss.Strategy) -> Any:
    def step(x: Any, y: Any, *, scale: Any) -> Any:
        xp = replica().xp
        return xp.add(xp.multiply(xp.asarray(x), scale), y)

    x = per_replica(strategy, lambda rank: eighths(2, start=rank))
    scale = per_replica(strategy, lambda rank: float(rank + 1))
    return strategy.run(step, args=(x, 0.5), kwargs={"scale": scale})


@program()
def run_with_nested_arguments(strategy: ss.Strategy) -> Any:
    def step(batch: Any, *, options: Any) -> Any:
        xp = replica().xp
        total = xp.add(xp.asarray(batch["x"]), batch["rest"][1][0])
        return {"total": total, "options": [xp.asarray(one) for one in options]}

    x = per_replica(strategy, lambda rank: eighths(2, 2, start=rank))
    batch = {"x": x, "rest": [1, (eighths(2, 2), None)]}
    return strategy.run(step, args=[batch], kwargs={"options": (x, 2.0)})


@program()
def run_with_named_tuples(strategy: ss.Strategy) -> Any:
    def step(pair: Any) -> Any:
        xp = replica().xp
        assert isinstance(pair, Pair)
        return Pair(left=xp.asarray(pair.right), right=[xp.asarray(pair.left)])

    result = strategy.run(step, args=(Pair(eighths(2), per_replica(strategy, lambda rank: eighths(1, start=rank))),))
    assert isinstance(result, Pair)
    return result, type(result).__name__


@program()
def run_by_its_older_name(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        return replica().xp.asarray(eighths(2, start=replica().replica_id_in_sync_group))

    return strategy.experimental_run_v2(step)


@program()
def run_feeds_the_next_run(strategy: ss.Strategy) -> Any:
    def step(x: Any) -> Any:
        return replica().xp.multiply(x, 2.0)

    values = strategy.run(step, args=(per_replica(strategy, lambda rank: eighths(2, start=rank)),))
    for _ in range(3):
        values = strategy.run(step, args=(values,))
    return values


@program()
def result_none_comes_back_unwrapped(strategy: ss.Strategy) -> Any:
    return {"none": strategy.run(lambda: None), "nothing to run": strategy.run(lambda: ())}


@program()
def result_of_one_object_comes_back_unwrapped(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        return SHARED, "text", (True, None)

    shared, text, rest = strategy.run(step)
    return [shared is SHARED, shared, text, rest]


@replica_function()
def result_of_own_objects_comes_back_per_replica() -> Any:
    rank = replica().replica_id_in_sync_group
    return {"number": rank, "array": replica().xp.asarray([0.5, 0.25]), "text": f"replica {rank}"}


@replica_function()
def result_mixes_shared_and_own_leaves() -> Any:
    rank = replica().replica_id_in_sync_group
    return {"shared": SHARED, "own": [rank, {"deep": (eighths(1, start=rank), None)}], "text": "same"}


@replica_function()
def result_keys_may_come_in_any_order() -> Any:
    rank = replica().replica_id_in_sync_group
    keys = ["b", "a", "c"] if rank % 2 else ["c", "b", "a"]
    return {key: replica().xp.asarray(eighths(1, start=rank + ord(key))) for key in keys}


@program()
def result_of_empty_containers(strategy: ss.Strategy) -> Any:
    result = strategy.run(lambda: [[], {}, (), {"empty": []}])
    return repr(result)


@program(cluster="own")
def local_results_of_every_kind(strategy: ss.Strategy) -> Any:
    own = strategy.run(lambda: replica().xp.asarray([1.5, replica().replica_id_in_sync_group]))
    shared = strategy.run(lambda: SHARED)
    return [strategy.experimental_local_results(value) for value in (own, shared, None, 3, "text")]


@program()
def a_replica_knows_who_it_is(strategy: ss.Strategy) -> Any:
    def step() -> Any:
        ctx = replica()
        facts = (ctx.strategy is strategy, ss.get_strategy() is strategy, ss.in_cross_replica_context())
        return ctx.replica_id_in_sync_group, ctx.num_replicas_in_sync, facts, len(ctx.devices)

    return strategy.run(step), strategy.num_replicas_in_sync


@program()
def contexts_outside_and_inside_a_scope(strategy: ss.Strategy) -> Any:
    outside = ss.has_strategy(), ss.in_cross_replica_context()
    with strategy.scope() as entered, strategy.scope():
        inside = ss.has_strategy(), ss.in_cross_replica_context(), ss.get_replica_context() is None
        same = entered is strategy, ss.get_strategy() is strategy
        result = strategy.run(lambda: replica().replica_id_in_sync_group)
    return outside, inside, same, result, ss.has_strategy()


@program()
def merge_call_hands_everyone_the_total(strategy: ss.Strategy) -> Any:
    def merge(merging: ss.Strategy, value: Any) -> Any:
        assert ss.in_cross_replica_context()
        return merging.reduce(ss.ReduceOp.SUM, value)

    def step() -> Any:
        ctx = replica()
        total = ctx.merge_call(merge, args=(ctx.xp.asarray(eighths(3, start=ctx.replica_id_in_sync_group)),))
        return ctx.xp.multiply(total, 2.0)

    return strategy.run(step)


@replica_function()
def merge_call_hands_everyone_its_own_component_back() -> Any:
    ctx = replica()
    own = ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group))
    back = ctx.merge_call(lambda _, value: value, args=(own,))
    return back is own, back


@program()
def merge_call_returns_every_kind_of_value(strategy: ss.Strategy) -> Any:
    def merge(merging: ss.Strategy, rank: Any) -> Any:
        ranks = merging.experimental_local_results(rank)
        own = ss.PerReplica([eighths(2, start=one) for one in ranks])
        equal = ss.Mirrored([eighths(1) for _ in ranks])
        return {"own": own, "equal": [equal, 5], "plain": ("text", None, SHARED)}

    def step() -> Any:
        ctx = replica()
        merged = ctx.merge_call(merge, args=(ctx.replica_id_in_sync_group,))
        return ctx.xp.asarray(merged["own"]), ctx.xp.asarray(merged["equal"][0]), merged["equal"][1], merged["plain"]

    return strategy.run(step)


@program()
def merge_call_with_nested_arguments(strategy: ss.Strategy) -> Any:
    def merge(merging: ss.Strategy, batch: Any, *, pair: Any, text: str) -> Any:
        assert text == "same"
        return merging.reduce("SUM", {"x": batch["x"], "y": batch["y"][0], "right": pair.right})

    def step() -> Any:
        ctx = replica()
        own = ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group))
        batch = {"y": [own + 1.0], "x": own}
        return ctx.merge_call(merge, args=[batch], kwargs={"pair": Pair(0, own), "text": "same"})

    return strategy.run(step)


@program()
def merge_calls_in_a_row(strategy: ss.Strategy) -> Any:
    def total(merging: ss.Strategy, value: Any) -> Any:
        return merging.reduce("SUM", value)

    def mean(merging: ss.Strategy, value: Any) -> Any:
        return merging.reduce("MEAN", value, axis=0)

    def step() -> Any:
        ctx = replica()
        value = ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group))
        for _ in range(2):
            value = ctx.merge_call(total, args=(value,)) * 0.5 + ctx.merge_call(mean, args=(value,))
        return value

    return strategy.run(step)


@replica_function()
def merge_functions_with_equal_closures_and_defaults() -> Any:
    ctx, results = replica(), []
    for count in range(3):

        def merge(merging: ss.Strategy, value: Any, scale: float = 0.5, *, power: int = 2) -> Any:
            return merging.reduce("SUM", value), count * scale + power  # noqa: B023 - called in this round

        own = ctx.xp.asarray(eighths(1, start=ctx.replica_id_in_sync_group + count))
        results.append(ctx.merge_call(functools.partial(merge, power=3), args=(own,)))
    return results


@replica_function()
def merge_call_and_collective_by_turns() -> Any:
    ctx = replica()
    own = ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group))
    first = ctx.all_reduce("SUM", own)
    second = ctx.merge_call(lambda merging, value: merging.reduce("MEAN", value), args=(first,))
    return ctx.all_reduce("SUM", ctx.xp.multiply(second, own)), second


@program()
def run_inside_a_merge_call(strategy: ss.Strategy) -> Any:
    def inner(value: Any, offset: float) -> Any:
        return replica().all_reduce("SUM", value + offset)

    def merge(merging: ss.Strategy, value: Any) -> Any:
        return merging.run(inner, args=(value, 0.5))

    def step() -> Any:
        ctx = replica()
        merged = ctx.merge_call(merge, args=(ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group)),))
        return ctx.all_reduce("SUM", merged), merged

    return strategy.run(step)


@program()
def runs_inside_merge_calls_two_levels_deep(strategy: ss.Strategy) -> Any:
    def innermost(value: Any) -> Any:
        return replica().all_reduce("SUM", value) * 2.0

    def inner(value: Any) -> Any:
        ctx = replica()
        deep = ctx.merge_call(lambda merging, one: merging.run(innermost, args=(one,)), args=(value,))
        return ctx.all_reduce("SUM", deep + value)

    def step() -> Any:
        ctx = replica()
        own = ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group))
        return ctx.merge_call(lambda merging, one: merging.run(inner, args=(one,)), args=(own,)) + own

    return strategy.run(step)


@program()
def several_runs_inside_one_merge_call(strategy: ss.Strategy) -> Any:
    def inner(value: Any) -> Any:
        return value * 2.0

    def merge(merging: ss.Strategy, value: Any) -> Any:
        for _ in range(3):
            value = merging.run(inner, args=(value,))
        return merging.reduce("SUM", value), value

    def step() -> Any:
        ctx = replica()
        return ctx.merge_call(merge, args=(ctx.xp.asarray(eighths(2, start=ctx.replica_id_in_sync_group)),))

    return strategy.run(step)


@program()
def replicas_that_never_meet(strategy: ss.Strategy) -> Any:
    def step(x: Any) -> Any:
        xp = replica().xp
        value = xp.asarray(x)
        for _ in range(replica().replica_id_in_sync_group):
            value = xp.multiply(value, 0.5)
        return value

    return strategy.run(step, args=(eighths(4),))
