"""A program that workers run, each in a process: a collective, a variable and a loop over data."""

from typing import Any

import numpy as np

import simstrategy as ss


def program(strategy: Any) -> Any:
    with strategy.scope():
        v = ss.Variable(np.float32(1), aggregation=ss.VariableAggregation.SUM)

    def step() -> Any:
        context = ss.get_replica_context()
        v.assign_add(np.float32(context.replica_id_in_sync_group + 1))
        return context.all_reduce("MEAN", np.float32([context.replica_id_in_sync_group, 4.0]))

    mean = strategy.run(step)
    return {"mean": strategy.experimental_local_results(mean), "v": v.numpy(), "of": strategy.num_replicas_in_sync}


def failing(strategy: Any) -> Any:
    raise KeyError("no such thing")
