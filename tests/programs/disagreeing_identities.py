"""Programs whose replicas make requests that look alike: about variables of one name, with functions of one line."""

import functools
from typing import Any, Final

import numpy as np
from disagreement import Disagreement, disagrees, is_last, step_disagrees
from program_catalogue import own, replica

import simstrategy as ss

__all__ = ["PROGRAMS"]

PROGRAMS: Final[dict[str, Disagreement]] = {}
program = functools.partial(disagrees, PROGRAMS)
replica_function = functools.partial(step_disagrees, PROGRAMS)

SUM: Final = ss.VariableAggregation.SUM


@program(
    "assign_add w (variable 0, made at <one>) SUM float32[2] at <here>",
    last="assign_add w (variable 1, made at <other>) SUM float32[2] at <here>",
)
def another_variable_of_the_same_name(strategy: ss.Strategy) -> Any:
    with strategy.scope():
        one = ss.Variable(np.zeros(2, np.float32), aggregation=SUM, name="w")  # <one>
        other = ss.Variable(np.zeros(2, np.float32), aggregation=SUM, name="w")  # <other>
    return strategy.run(lambda: (other if is_last() else one).assign_add(own(2)))  # <here>


@program(
    "assign w (variable 1, made at <made>) MEAN float32[] at <here>",
    first="assign w (variable 0, made at <made>) MEAN float32[] at <here>",
)
def another_variable_of_one_line(strategy: ss.Strategy) -> Any:
    with strategy.scope():
        mean = ss.VariableAggregation.MEAN
        made = [ss.Variable(1.0, aggregation=mean, name="w") for _ in range(2)]  # <made>
    return strategy.run(lambda: made[min(1, replica().replica_id_in_sync_group)].assign(own()))  # <here>


@program(
    "assign v SUM float32[] at <here>",
    last="assign w SUM float32[] at <here>",
)
def another_variable(strategy: ss.Strategy) -> Any:
    with strategy.scope():
        one, other = [ss.Variable(1.0, aggregation=SUM, name=name) for name in "vw"]
    return strategy.run(lambda: (other if is_last() else one).assign(own()))  # <here>


@replica_function(
    "merge_call merge (<merge>) with helper.factor=1 ((), {}) at <here>",
    last="merge_call merge (<merge>) with helper.factor=2 ((), {}) at <here>",
)
def another_value_in_a_function_inside() -> Any:
    factor = 2 if is_last() else 1

    def helper() -> Any:
        return factor

    def merge(_: ss.Strategy) -> Any:  # <merge>
        return helper()

    return replica().merge_call(merge)  # <here>


@replica_function(
    "merge_call merge (<merge>) with factor=np.float32(1.0) ((), {}) at <here>",
    last="merge_call merge (<merge>) with factor=np.float32(2.0) ((), {}) at <here>",
)
def another_number_of_numpy_in_the_closure() -> Any:
    factor = np.float32(2 if is_last() else 1)

    def merge(_: ss.Strategy) -> Any:  # <merge>
        return factor

    return replica().merge_call(merge)  # <here>


@replica_function(
    "merge_call merge (<merge>) with factors=(1, [2]) ((), {}) at <here>",
    last="merge_call merge (<merge>) with factors=(1, [3]) ((), {}) at <here>",
)
def another_number_in_a_container_in_the_closure() -> Any:
    factors = (1, [3 if is_last() else 2])

    def merge(_: ss.Strategy) -> Any:  # <merge>
        return factors

    return replica().merge_call(merge)  # <here>


@replica_function(
    "merge_call merge (<merge>) ((), {}) at <here>",
    last="merge_call merge (<merge>) with factor=2 ((), {}) at <here>",
)
def a_decorated_merge_function() -> Any:
    def merge(_: ss.Strategy) -> Any:  # <merge>
        return 1

    def scaled(factor: int) -> Any:
        @functools.wraps(merge)
        def wrapper(strategy: ss.Strategy) -> Any:
            return factor * merge(strategy)

        return wrapper

    return replica().merge_call(scaled(2) if is_last() else merge)  # <here>
