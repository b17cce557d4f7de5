"""tf.distribute.Strategy's semantics as a specification that runs.

The public module for programs. Authors of backends use `simstrategy.device`.

Every public name is imported on its first use: the list of commands, or a worker that judges no program, does not pay
for what it does not use (decision 0035).
"""

import sys
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy import data, device, errors, estimator, nn, schedules, sim, testing, trace
    from simstrategy.check.check import check
    from simstrategy.check.checkpoint import Checkpoint
    from simstrategy.check.exempt import exempt
    from simstrategy.check.report import Report
    from simstrategy.data import AutoShardPolicy, InputContext, InputOptions, InputReplicationMode
    from simstrategy.device import available as backends
    from simstrategy.device import open_backend as backend
    from simstrategy.ledger.ledger import ledger
    from simstrategy.ledger.report import Ledger
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
    "estimator",
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

_WHERE: Final = MappingProxyType(
    {
        "AutoShardPolicy": "simstrategy.data:AutoShardPolicy",
        "Checkpoint": "simstrategy.check.checkpoint:Checkpoint",
        "InputContext": "simstrategy.data:InputContext",
        "InputOptions": "simstrategy.data:InputOptions",
        "InputReplicationMode": "simstrategy.data:InputReplicationMode",
        "Ledger": "simstrategy.ledger.report:Ledger",
        "Mirrored": "simstrategy.values:Mirrored",
        "PerReplica": "simstrategy.values:PerReplica",
        "ReduceOp": "simstrategy.strategy:ReduceOp",
        "ReplicaContext": "simstrategy.strategy:ReplicaContext",
        "Report": "simstrategy.check.report:Report",
        "Semantics": "simstrategy.strategy:Semantics",
        "Strategy": "simstrategy.strategy:Strategy",
        "StrategyExtended": "simstrategy.strategy:StrategyExtended",
        "ValueContext": "simstrategy.strategy:ValueContext",
        "Variable": "simstrategy.strategy:Variable",
        "VariableAggregation": "simstrategy.strategy:VariableAggregation",
        "VariableSynchronization": "simstrategy.strategy:VariableSynchronization",
        "backend": "simstrategy.device:open_backend",
        "backends": "simstrategy.device:available",
        "check": "simstrategy.check.check:check",
        "data": "simstrategy.data",
        "device": "simstrategy.device",
        "errors": "simstrategy.errors",
        "estimator": "simstrategy.estimator",
        "exempt": "simstrategy.check.exempt:exempt",
        "experimental_set_strategy": "simstrategy.strategy:experimental_set_strategy",
        "get_replica_context": "simstrategy.strategy:get_replica_context",
        "get_strategy": "simstrategy.strategy:get_strategy",
        "has_strategy": "simstrategy.strategy:has_strategy",
        "in_cross_replica_context": "simstrategy.strategy:in_cross_replica_context",
        "ledger": "simstrategy.ledger.ledger:ledger",
        "nn": "simstrategy.nn",
        "schedules": "simstrategy.schedules",
        "sim": "simstrategy.sim",
        "testing": "simstrategy.testing",
        "trace": "simstrategy.trace",
    }
)
"""Where each public name is defined: a module, or a module and the name there."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)


@final
class _Public(ModuleType):
    """The type of this module: packages have the names of two functions."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of the package `check` sets it as an attribute here, in the place of the function.
        is_package = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}" != _WHERE.get(name)
        if name not in _WHERE or not is_package:
            ModuleType.__setattr__(self, name, value)


sys.modules[__name__].__class__ = _Public
