"""tf.distribute.Strategy's semantics as a specification that runs.

The public module for programs. Authors of backends use `simstrategy.device`.

The names of `_LATE` are imported on their first use: few of the processes that import this module judge programs, and
each would pay for it (decision 0035).
"""

import importlib
import sys
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, final

# First, while few imports are nested: CPython maps memory anew at each call that needs more than its frames have.
import numpy as _numpy  # noqa: F401

from simstrategy import data, device, errors, nn, schedules, sim, trace
from simstrategy.data import AutoShardPolicy, InputContext, InputOptions, InputReplicationMode
from simstrategy.device import available as backends
from simstrategy.device import open_backend as backend
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

if TYPE_CHECKING:
    from simstrategy import estimator, testing
    from simstrategy.check.check import check
    from simstrategy.check.checkpoint import Checkpoint
    from simstrategy.check.exempt import exempt
    from simstrategy.check.report import Report
    from simstrategy.ledger.ledger import ledger
    from simstrategy.ledger.report import Ledger

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

_LATE: Final = MappingProxyType(
    {
        "Checkpoint": "simstrategy.check.checkpoint",
        "Ledger": "simstrategy.ledger.report",
        "Report": "simstrategy.check.report",
        "check": "simstrategy.check.check",
        "estimator": "simstrategy.estimator",
        "exempt": "simstrategy.check.exempt",
        "ledger": "simstrategy.ledger.ledger",
        "testing": "simstrategy.testing",
    }
)
"""The modules that define the names which are imported on their first use; two names are their modules themselves."""


def __getattr__(name: str) -> Any:
    """Imports a name of `_LATE`.  Of the module, not of its type, which would be asked for every name."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    module = importlib.import_module(_LATE[name])
    value = vars(module).get(name, module)
    ModuleType.__setattr__(sys.modules[__name__], name, value)
    return value


@final
class _Public(ModuleType):
    """The type of this module: of two names of `_LATE` packages have the name too."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of the package `check` sets it as an attribute here, in the place of the function.
        is_package = isinstance(value, ModuleType) and value.__name__ == f"{self.__name__}.{name}" != _LATE.get(name)
        if name not in _LATE or not is_package:
            ModuleType.__setattr__(self, name, value)

    def __dir__(self) -> list[str]:
        return sorted({*ModuleType.__dir__(self), *_LATE})


sys.modules[__name__].__class__ = _Public
