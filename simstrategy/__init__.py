"""tf.distribute.Strategy's semantics as a specification that runs.

The public module for programs. Authors of backends use `simstrategy.device`.
"""

from simstrategy import data, device, errors, nn, schedules, sim, testing, trace
from simstrategy.check import Checkpoint, Report, check, exempt
from simstrategy.data import AutoShardPolicy, InputContext, InputOptions, InputReplicationMode
from simstrategy.device import available as backends
from simstrategy.device import open_backend as backend
from simstrategy.ledger import Ledger, ledger
from simstrategy.strategy import (
    ReduceOp,
    ReplicaContext,
    Semantics,
    Strategy,
    StrategyExtended,
    ValueContext,
    Variable,
    VariableAggregation,
    VariableSynchronization,
    experimental_set_strategy,
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from simstrategy.values import Mirrored, PerReplica

__version__ = "0.1.0"

__all__ = [
    "AutoShardPolicy",
    "Checkpoint",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "Ledger",
    "Mirrored",
    "PerReplica",
    "ReduceOp",
    "ReplicaContext",
    "Report",
    "Semantics",
    "Strategy",
    "StrategyExtended",
    "ValueContext",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "backend",
    "backends",
    "check",
    "data",
    "device",
    "errors",
    "exempt",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
    "ledger",
    "nn",
    "schedules",
    "sim",
    "testing",
    "trace",
]
