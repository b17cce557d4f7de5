"""Checks of writes in replica functions: when they raise, and the messages.

The rules are in `policies.py`; nothing is written here.
"""

from typing import NoReturn

from simstrategy.device.terms import Spec
from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr
from simstrategy.strategy.enums import AGGREGATIONS
from simstrategy.strategy.modes import Replica, name_of
from simstrategy.strategy.reductions.arithmetic import MEAN_DTYPES
from simstrategy.strategy.validation import is_host_zero
from simstrategy.strategy.variables.state import VariableState
from simstrategy.trace import Request, Site, describe_site

__all__ = ["refuse_unaggregated", "require_form", "require_sum", "require_summable"]


def refuse_unaggregated(variable: VariableState, kind: str, replica: Replica, site: Site) -> NoReturn:
    """Raises InvalidArgument: without an aggregation, several replicas' values do not make one value."""
    raise InvalidArgument(
        f"You must specify an aggregation method to update variable {variable.name!r} in a replica function: "
        f"{kind} at {describe_site(site)} in {name_of(replica)}. Make the variable "
        f"with one of {AGGREGATIONS}; SUM adds the replicas' values, MEAN averages them."
    )


def require_sum(variable: VariableState, request: Request, shared: object, site: Site) -> None:
    """Raises InvalidArgument where all replicas gave the very same object to be summed, and it is no zero."""
    if request.op == "SUM" and not is_host_zero(shared, variable.group.array_types):
        raise InvalidArgument(
            f"A non-DistributedValues value {short_repr(shared)} cannot be reduced with ReduceOp.SUM: all replicas "
            f"gave "
            f"the very same object to {request.kind} of variable {variable.name!r} ({describe_site(site)}), so "
            f"whether it counts once or once per replica is not known. Compute it in each replica, or divide "
            f"by num_replicas_in_sync there."
        )


def require_summable(variable: VariableState, request: Request, site: Site) -> None:
    """Raises InvalidArgument: bool is not reduced, or the mean of several replicas' values has another dtype."""
    if variable.is_reducible:
        return
    if variable.dtype == "bool":
        raise InvalidArgument(
            f"{request.kind} of variable {variable.name!r} ({describe_site(site)}) got bool, which has no "
            f"{'mean' if request.op == 'MEAN' else 'sum'}. Make the variable int32 or float32, or choose "
            f"VariableAggregation.ONLY_FIRST_REPLICA."
        )
    raise InvalidArgument(
        f"{request.kind} of variable {variable.name!r} ({describe_site(site)}): the mean of {variable.dtype} is "
        f"{MEAN_DTYPES[variable.dtype]}, and a variable never changes its dtype. Make it float32, or choose "
        f"another aggregation."
    )


def require_form(variable: VariableState, spec: Spec, kind: str, index: int, site: Site) -> None:
    """Raises InvalidArgument unless a value has the variable's shape and dtype.

    spec: the value's. index: of the local replica whose component it is for.
    """
    shape, dtype, _ = spec
    if shape != variable.shape or dtype != variable.dtype:
        where = f"{describe_site(site)}, replica {variable.group.local_devices[index].rank}"
        raise InvalidArgument(
            f"{kind} of variable {variable.name!r} ({where}) got {dtype}{list(shape)}, and the variable is "
            f"{variable.dtype}{list(variable.shape)}. Reshape or cast the value: a variable never changes its form."
        )
