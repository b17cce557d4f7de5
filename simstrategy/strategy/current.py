"""Questions about the current context, and the default strategy that answers where none was entered.

A strategy is made current by its scope, by `run`, and by `experimental_set_strategy`; nothing here runs one.
"""

from functools import lru_cache

from simstrategy.errors import ContextError, InvalidType
from simstrategy.strategy.context import ReplicaContext
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.kinds import DEFAULT
from simstrategy.strategy.modes import CrossReplica, current_mode, enter_mode
from simstrategy.strategy.opening import open_engine
from simstrategy.strategy.strategy import Strategy

__all__ = [
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
    return Strategy(StrategyExtended(open_engine(DEFAULT, "sim", {})))


def has_strategy() -> bool:
    """Tells whether a strategy other than the default one is current."""
    mode = current_mode()
    return mode is not None and mode.engine.kind is not DEFAULT


def get_strategy() -> Strategy:
    """Returns the current strategy; the default one where none was entered."""
    mode = current_mode()
    return default_strategy() if mode is None else mode.strategy


def get_replica_context() -> ReplicaContext | None:
    """Returns the running replica's context; None in a cross-replica context.

    Where no strategy was entered, the default strategy's: replica 0 of 1, whose collectives return what
    they get.
    """
    mode = current_mode()
    return default_strategy().extended.engine.lone_context() if mode is None else mode.replica


def in_cross_replica_context() -> bool:
    """Tells whether a scope, a merge function or an update is current, and no replica runs."""
    mode = current_mode()
    return mode is not None and mode.replica is None


def experimental_set_strategy(strategy: Strategy | None) -> None:
    """Makes a strategy current without a scope, until it is called with None or another one.

    Holds in this thread. Raises ContextError inside a scope or a replica function, and InvalidType.
    """
    if strategy is not None and not isinstance(strategy, Strategy):
        raise InvalidType(f"experimental_set_strategy takes a Strategy or None, got {strategy!r}.")
    mode = current_mode()
    if mode is not None and not (isinstance(mode, CrossReplica) and mode.permanent):
        raise ContextError(
            f"Must not be called inside a strategy's scope: experimental_set_strategy was called while "
            f"{mode.strategy!r} is current. Call it outside scopes and replica functions."
        )
    default = strategy is None or strategy.extended.engine.kind is DEFAULT
    enter_mode(None if default or strategy is None else CrossReplica(strategy, permanent=True))
