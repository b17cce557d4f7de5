"""Programs whose replicas come to one meeting with different requests: everything that a request is made of."""

import enum
import functools
from typing import Any, Final, NamedTuple

from disagreement import Disagreement, disagrees, is_last, step_disagrees
from program_catalogue import own, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Disagreement]] = {}
program = functools.partial(disagrees, PROGRAMS)
replica_function = functools.partial(step_disagrees, PROGRAMS)


class Pair(NamedTuple):
    left: Any
    right: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@replica_function("all_reduce SUM float32[2] at <here>", last="all_reduce MEAN float32[2] at <here>")
def another_operation() -> Any:
    op = ss.ReduceOp.MEAN if is_last() else ss.ReduceOp.SUM
    return replica().all_reduce(op, own(2))  # <here>


@replica_function("all_reduce SUM float32[2] at <there>", first="all_gather axis=0 float32[?] at <here>")
def another_kind_of_collective() -> Any:
    if replica().replica_id_in_sync_group == 0:
        return replica().all_gather(own(2), 0)  # <here>
    return replica().all_reduce("SUM", own(2))  # <there>


@program("all_reduce SUM float32[] at <here>", last="merge_call merge (<merge>) ((*,), {}) at <there>")
def collective_against_merge_call(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, value: Any) -> Any:  # <merge>
        return value

    def step() -> Any:
        ctx = replica()
        if not is_last():
            return ctx.all_reduce("SUM", 1.0)  # <here>
        return ctx.merge_call(merge, args=(1.0,))  # <there>

    return strategy.run(step)


@program("all_gather axis=0 float32[?,2] at <here>", last="all_gather axis=1 float32[2,?] at <here>")
def another_axis(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather(own(2, 2), 1 if is_last() else 0))  # <here>


@program("all_reduce SUM float32[<rank>] at <here>")
def another_shape_each(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", own(replica().replica_id_in_sync_group)))  # <here>


@program("all_reduce SUM float32[2] at <here>", last="all_reduce SUM float32[2,1] at <here>")
def another_number_of_dimensions(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", own(2, 1) if is_last() else own(2)))  # <here>


@replica_function("all_reduce SUM float32[] at <here>", first="all_reduce SUM float32[1] at <here>")
def a_vector_of_one_against_scalars() -> Any:
    ctx = replica()
    return ctx.all_reduce("SUM", own() if ctx.replica_id_in_sync_group else own(1))  # <here>


@replica_function("all_reduce SUM float32[2] at <here>", last="all_reduce SUM int32[2] at <here>")
def another_dtype() -> Any:
    return replica().all_reduce("SUM", own(2, dtype="int32" if is_last() else "float32"))  # <here>


@replica_function("all_reduce MEAN float32[0] at <here>", last="all_reduce MEAN float16[0] at <here>")
def another_dtype_of_nothing() -> Any:
    return replica().all_reduce("MEAN", own(0, dtype="float16" if is_last() else "float32"))  # <here>


@program("all_gather axis=0 float32[?,2] at <here>", last="all_gather axis=0 float32[?,3] at <here>")
def another_size_beside_the_gathered_axis(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather(own(2, 3 if is_last() else 2), 0))  # <here>


@program("all_gather axis=0 int32[?] at <here>", last="all_gather axis=0 float32[?] at <here>")
def another_dtype_gathered(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather(own(2, dtype="float32" if is_last() else "int32"), 0))  # <here>


@program("all_reduce SUM [float32[2]] at <here>", last="all_reduce SUM (float32[2],) at <here>")
def a_tuple_against_lists(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", (own(2),) if is_last() else [own(2)]))  # <here>


@replica_function(
    "all_reduce SUM (float32[1], float32[2]) at <here>",
    last="all_reduce SUM Pair(left=float32[1], right=float32[2]) at <here>",
)
def a_named_tuple_against_tuples() -> Any:
    nest = Pair(own(1), own(2)) if is_last() else (own(1), own(2))
    return replica().all_reduce("SUM", nest)  # <here>


@program("all_reduce SUM float32[2] at <here>", last="all_reduce SUM [float32[2]] at <here>")
def a_nest_against_arrays(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", [own(2)] if is_last() else own(2)))  # <here>


@program("all_reduce SUM {'a': float32[2]} at <here>", last="all_reduce SUM {'b': float32[2]} at <here>")
def other_keys(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", {"b" if is_last() else "a": own(2)}))  # <here>


@program(
    "all_gather leaf 0 of {'a': *} axis=0 float32[?] at <here>",
    last="all_gather leaf 0 of {'b': *} axis=0 float32[?] at <here>",
)
def other_keys_gathered(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_gather({"b" if is_last() else "a": own(2)}, 0))  # <here>


@replica_function(
    "all_gather leaf 0 of [*] axis=0 int32[?] at <here>", last="all_gather leaf 0 of [*, *] axis=0 int32[?] at <here>"
)
def a_longer_list_gathered() -> Any:
    part = own(2, dtype="int32")
    return replica().all_gather([part, part] if is_last() else [part], 0)  # <here>


@replica_function("all_reduce SUM [float32[1]] at <here>", first="all_reduce SUM [float32[1], float32[1]] at <here>")
def a_longer_list() -> Any:
    count = 1 if replica().replica_id_in_sync_group else 2
    return replica().all_reduce("SUM", [own(1)] * count)  # <here>


@replica_function(
    "all_reduce SUM {'a': [float32[2], (float32[],)]} at <here>",
    last="all_reduce SUM {'a': [float32[2], (int32[],)]} at <here>",
)
def another_dtype_deep_in_a_nest() -> Any:
    deep = 1 if is_last() else 1.0
    return replica().all_reduce("SUM", {"a": [own(2), (deep,)]})  # <here>


@program("all_reduce SUM () at <here>", last="all_reduce SUM [] at <here>")
def different_empty_nests(strategy: ss.Strategy) -> Any:
    return strategy.run(lambda: replica().all_reduce("SUM", [] if is_last() else ()))  # <here>


@program("merge_call add (<add>) ((*,), {}) at <here>", last="merge_call keep (<keep>) ((*,), {}) at <here>")
def another_merge_function(strategy: ss.Strategy) -> Any:
    def add(merging: ss.Strategy, value: Any) -> Any:  # <add>
        return merging.reduce("SUM", value)

    def keep(_: ss.Strategy, value: Any) -> Any:  # <keep>
        return value

    return strategy.run(lambda: replica().merge_call(keep if is_last() else add, args=(own(1),)))  # <here>


@replica_function("merge_call merge (<merge>) with scale=<rank> ((), {}) at <here>")
def another_value_in_the_closure() -> Any:
    scale = replica().replica_id_in_sync_group

    def merge(_: ss.Strategy) -> Any:  # <merge>
        return scale

    return replica().merge_call(merge)  # <here>


@replica_function(
    "merge_call merge (<merge>) with colour=Colour.RED ((), {}) at <here>",
    last="merge_call merge (<merge>) with colour=Colour.BLUE ((), {}) at <here>",
)
def another_enum_in_the_closure() -> Any:
    colour = Colour.BLUE if is_last() else Colour.RED

    def merge(_: ss.Strategy) -> Any:  # <merge>
        return colour.name

    return replica().merge_call(merge)  # <here>


@replica_function(
    "merge_call merge (<merge>) with scale=1, offset=0.5 ((), {}) at <here>",
    first="merge_call merge (<merge>) with scale=2, offset=0.5 ((), {}) at <here>",
)
def another_default() -> Any:
    first = replica().replica_id_in_sync_group == 0

    def merge(_: ss.Strategy, scale: int = 2 if first else 1, *, offset: float = 0.5) -> Any:  # <merge>
        return scale + offset

    return replica().merge_call(merge)  # <here>


@program(
    "merge_call merge (<merge>) with scale=1 ((), {}) at <here>",
    last="merge_call merge (<merge>) with scale=2 ((), {}) at <here>",
)
def another_bound_argument(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, *, scale: int) -> Any:  # <merge>
        return scale

    def step() -> Any:
        return replica().merge_call(functools.partial(merge, scale=2 if is_last() else 1))  # <here>

    return strategy.run(step)


@program(
    "merge_call merge (<merge>) (({'a': *},), {}) at <here>",
    last="merge_call merge (<merge>) (([*, *],), {}) at <here>",
)
def other_arguments_of_a_merge_call(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, value: Any) -> Any:  # <merge>
        return value

    return strategy.run(lambda: replica().merge_call(merge, args=([1, 2] if is_last() else {"a": 1},)))  # <here>


@program(
    "merge_call merge (<merge>) ((), {'a': *}) at <here>", last="merge_call merge (<merge>) ((), {'b': *}) at <here>"
)
def other_keywords_of_a_merge_call(strategy: ss.Strategy) -> Any:
    def merge(_: ss.Strategy, **values: Any) -> Any:  # <merge>
        return values

    return strategy.run(lambda: replica().merge_call(merge, kwargs={"b" if is_last() else "a": own(1)}))  # <here>
