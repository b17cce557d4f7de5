"""Writes that a variable refuses in replica functions: when, and what is said instead.

The rules themselves are in `policies.py`; nothing is written here.
"""

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from simstrategy.errors import InvalidArgument
from simstrategy.strategy.enums import AGGREGATIONS
from simstrategy.strategy.reductions.reduction import MEAN_DTYPES
from simstrategy.trace import Request, Site, describe_site

if TYPE_CHECKING:
    from simstrategy.strategy.context import ReplicaContext
    from simstrategy.strategy.variables.variable import Variable

__all__ = ["refuse_unaggregated", "require_mean", "require_sum"]


def refuse_unaggregated(variable: "Variable", kind: str, replica: "ReplicaContext", site: Site) -> NoReturn:
    """Raises InvalidArgument: whose value is meant is not known."""
    raise InvalidArgument(
        f"You must specify an aggregation method to update variable {variable.name!r} in a replica function: "
        f"{kind} at {describe_site(site)} in replica {replica.replica_id_in_sync_group}. Make the variable "
        f"with one of {AGGREGATIONS}; SUM adds the replicas' values, MEAN averages them."
    )


def require_sum(variable: "Variable", request: Request, shared: Any, site: Site) -> None:
    """Raises InvalidArgument where all replicas gave the very same object to be summed, and it is no zero."""
    if request.op == "SUM" and not _is_zero(shared, variable.engine.array_types):
        raise InvalidArgument(
            f"A non-DistributedValues value {shared!r} cannot be reduced with ReduceOp.SUM: all replicas gave "
            f"the very same object to {request.kind} of variable {variable.name!r} ({describe_site(site)}), so "
            f"whether it counts once or once per replica is not known. Compute it in each replica, or divide "
            f"by num_replicas_in_sync there."
        )


def require_mean(variable: "Variable", request: Request, site: Site) -> None:
    """Raises InvalidArgument where the mean of several replicas' values has another dtype than the variable."""
    if request.op == "MEAN" and variable.dtype in MEAN_DTYPES and len(variable.engine.devices) > 1:
        raise InvalidArgument(
            f"{request.kind} of variable {variable.name!r} ({describe_site(site)}): the mean of {variable.dtype} is "
            f"{MEAN_DTYPES[variable.dtype]}, and a variable never changes its dtype. Make it float32, or choose "
            f"another aggregation."
        )


def _is_zero(value: Any, array_types: tuple[type, ...]) -> bool:
    """Tells whether host data is nothing but zeros, whose sum is the same however often they count."""
    if isinstance(value, (*array_types, bool, np.bool_)) or not isinstance(value, (int, float, np.ndarray, np.generic)):
        return False
    return not np.any(value)
