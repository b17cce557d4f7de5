"""Puts a case to a strategy: places its arrays, returns host copies, and keeps errors as answers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from golden_replay.verdict import Raised
from simstrategy.strategy import ReplicaContext, Strategy, get_replica_context, group_of
from simstrategy.values import PerReplica

__all__ = ["attempt", "here", "host", "hosts", "placed"]

Host = np.ndarray[Any, Any]


def attempt(call: Callable[[], Any]) -> Any:
    """Returns the call's result, or what it raised."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - an error is an answer, which the verdict compares
        return Raised(error)


def host(strategy: Strategy, value: Any) -> Any:
    """Returns an array's host copy; what is no array of the backend stays, and so differs from any array."""
    group = group_of(strategy)
    return group.backend.get(value) if isinstance(value, group.array_types) else {"py": value}


def hosts(strategy: Strategy, value: Any) -> list[Any]:
    """Returns host copies of a value's local components."""
    return [host(strategy, one) for one in strategy.experimental_local_results(value)]


def placed(strategy: Strategy, arrays: list[Host]) -> Any:
    """Returns one host array per replica as the replicas' own arrays."""
    return strategy.run(_adopted, args=(PerReplica(arrays),))


def _adopted(array: Any) -> Any:
    return here().xp.asarray(array)


def here() -> ReplicaContext:
    """Returns the context of the replica that runs."""
    context = get_replica_context()
    assert context is not None
    return context
