"""The current context, and the default strategy where none was entered.

A strategy is made current by its scope, by `run`, and by `experimental_set_strategy`.
"""

from functools import lru_cache
from typing import cast

from simstrategy.errors import ContextError, InvalidType
from simstrategy.run import CollectiveMatcher
from simstrategy.short_repr import short_repr
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.group import Group
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import MODE, CrossReplica, current_mode, enter_mode
from simstrategy.strategy.opening import default_group
from simstrategy.strategy.replica import ReplicaContext
from simstrategy.strategy.running import Runner
from simstrategy.strategy.strategy import Strategy, group_of

__all__ = [
    "current_group",
    "default_strategy",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]


@lru_cache(maxsize=1)
def default_strategy() -> Strategy:
    """Returns the strategy that is current where none was entered: one replica on the simulator, made on first use."""
    return Strategy(StrategyExtended(Runner(default_group())))


@lru_cache(maxsize=1)
def _default_replica() -> ReplicaContext:
    """Returns the context of the default strategy's one replica, which is current where nothing was entered."""
    group = group_of(default_strategy())
    matcher = CollectiveMatcher(group.coordinator, _default_replica)
    return ReplicaContext(group, 0, lambda *call: matcher.match([call], [0])[0])


def has_strategy() -> bool:
    """Returns whether a strategy other than the default one is current."""
    mode = current_mode()
    return mode is not None and mode.group.kind is not DEFAULT


def get_strategy() -> Strategy:
    """Returns the current strategy; the default one where none was entered."""
    mode = current_mode()
    return default_strategy() if mode is None else cast("Strategy", mode.group.owner)


def current_group() -> Group:
    """Returns the current strategy's group: for the other packages of the core."""
    return group_of(get_strategy())


def get_replica_context() -> ReplicaContext | None:
    """Returns the running replica's context; None in a cross-replica context.

    Where no strategy was entered, the default strategy's: replica 0 of 1, whose collectives return their argument.
    """
    mode = MODE.get()
    if isinstance(mode, ReplicaContext):
        return mode
    return _default_replica() if mode is None else None


def in_cross_replica_context() -> bool:
    """Returns whether a scope, a merge function or an update is current, and no replica runs."""
    mode = current_mode()
    return mode is not None and mode.replica is None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Makes a strategy current without a scope, until it is called with None or another one.

    Holds in this thread. Raises ContextError inside a scope or a replica function, and InvalidType.
    """
    if strategy is not None and not isinstance(strategy, Strategy):
        raise InvalidType(
            f"experimental_set_strategy takes a Strategy or None, got {short_repr(strategy)}. Pass a strategy that "
            f"you made."
        )
    mode = current_mode()
    if mode is not None and not (isinstance(mode, CrossReplica) and mode.permanent):
        raise ContextError(
            f"Must not be called inside a strategy's scope: experimental_set_strategy was called while "
            f"{mode.group.owner!r} is current. Call it outside scopes and replica functions."
        )
    if strategy is None or group_of(strategy).kind is DEFAULT:
        enter_mode(None)
    else:
        enter_mode(CrossReplica(group_of(strategy), permanent=True))
