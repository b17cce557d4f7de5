"""The semantics of strategies, written once above the device layer."""

from simstrategy.strategy.current import (
    current_group,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from simstrategy.strategy.enums import ReduceOp, VariableAggregation, VariableSynchronization
from simstrategy.strategy.extended import StrategyExtended
from simstrategy.strategy.library.local_results import ValueContext
from simstrategy.strategy.replica import ReplicaContext
from simstrategy.strategy.semantics import PROFILES, Semantics
from simstrategy.strategy.strategy import Strategy, group_of, programs_of, runner_of
from simstrategy.strategy.variables.variable import Variable

__all__ = [
    "PROFILES",
    "ReduceOp",
    "ReplicaContext",
    "Semantics",
    "Strategy",
    "StrategyExtended",
    "ValueContext",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "current_group",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "group_of",
    "has_strategy",
    "in_cross_replica_context",
    "programs_of",
    "runner_of",
]
