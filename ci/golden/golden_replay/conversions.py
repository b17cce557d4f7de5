"""Recorded conversions: what a value of Python or NumPy becomes, by the place that takes it."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from golden_replay.asking import attempt, here, host, hosts
from simstrategy.data import Dataset
from simstrategy.strategy import Strategy, Variable

__all__ = ["convert_case"]

Body = Mapping[str, Any]

_NAMES: Final = {"np": np, "nan": math.nan, "inf": math.inf}


def convert_case(body: Body, strategy: Strategy) -> Any:
    """Returns what a value becomes in one place, or what is raised there."""
    value, dtype = eval(body["value"], dict(_NAMES)), body["dtype"] or None

    def assigned() -> Any:
        made = Variable(strategy.xp.zeros(np.shape(value), dtype=dtype))
        made.assign(value)
        return host(strategy, made.value())

    def added() -> Any:
        return hosts(strategy, strategy.run(lambda: here().all_reduce("SUM", value)))[0]

    places: dict[str, Callable[[], Any]] = {
        "asarray": lambda: host(strategy, strategy.xp.asarray(value, dtype=dtype)),
        "variable": lambda: host(strategy, Variable(value, dtype=dtype).value()),
        "assign": assigned,
        "slices": lambda: next(iter(Dataset.from_tensor_slices(value))),
        "all_reduce": added,
    }

    def converted() -> Any:
        with strategy.scope():
            return {"value": np.asarray(places[body["place"]]())}

    def in_run() -> Any:
        return {"value": places["all_reduce"]()}

    return attempt(in_run if body["place"] == "all_reduce" else converted)
