"""The words that tests share: short ways to make variables, and to read what replicas hold.  No tests, no mocks.

Every test may import this module: `pyproject.toml` puts its folder on Python's path.
"""

import sys
from typing import Any

import numpy as np

import simstrategy as ss
from simstrategy import Semantics, VariableAggregation, VariableSynchronization
from simstrategy.schedules import Seeded
from simstrategy.strategy import group_of

__all__ = [
    "AUTO",
    "FIRST",
    "KINDS",
    "MEAN",
    "NONE",
    "NO_SYNC",
    "ON_READ",
    "ON_WRITE",
    "PROFILES",
    "SUM",
    "TF1_13",
    "TF1_15",
    "TF2",
    "components",
    "ctx",
    "group_of",
    "line_here",
    "listed",
    "mirrored_on",
    "rank",
    "variable_in",
    "variable_under",
]

NONE, SUM, MEAN, FIRST = (VariableAggregation[n] for n in ("NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"))
AUTO, NO_SYNC, ON_WRITE, ON_READ = (VariableSynchronization[n] for n in ("AUTO", "NONE", "ON_WRITE", "ON_READ"))
KINDS = ("assign", "assign_add", "assign_sub")
PROFILES = TF1_13, TF1_15, TF2 = (Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2)


def ctx() -> Any:
    """Returns the context of the replica that runs; None in a cross-replica context."""
    return ss.get_replica_context()


def rank() -> int:
    """Returns the rank of the replica that runs."""
    return int(ctx().replica_id_in_sync_group)


def mirrored_on(backend: str, replicas: int, **settings: Any) -> ss.Strategy:
    """Returns a mirrored strategy on a backend that is named."""
    return ss.Strategy.mirrored(backend, replicas=replicas, **settings)


def variable_in(strategy: ss.Strategy, value: Any = 1.0, **settings: Any) -> ss.Variable:
    """Returns a variable that is made in the strategy's scope."""
    with strategy.scope():
        return ss.Variable(value, **settings)


def variable_under(kind: str, **settings: Any) -> tuple[ss.Strategy, ss.Variable]:
    """Returns a strategy whose replicas run in such a way ("inline", "greenlet", "thread, seeded"), and a variable."""
    name, _, schedule = kind.partition(", ")
    alone = name == "inline"
    settings |= {"executor": "auto" if alone else name, "schedule": Seeded(2) if schedule else None}
    strategy = ss.Strategy.mirrored("sim", replicas=1 if alone else 2, **settings)
    return strategy, variable_in(strategy, 0.0)


def components(one: ss.Variable) -> list[Any]:
    """Returns the components of a variable as lists and numbers of Python."""
    return [np.asarray(component).tolist() for component in one.components]


def listed(value: Any) -> list[Any]:
    """Returns the components of a distributed value as lists and numbers of Python."""
    return [np.asarray(component).tolist() for component in value.values]


def line_here() -> int:
    """Returns the number of the line that calls."""
    return sys._getframe(1).f_lineno
