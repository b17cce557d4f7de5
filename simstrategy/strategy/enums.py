"""The enumerations of the public surface, with TensorFlow's names."""

from enum import Enum
from typing import Any, Final

from simstrategy.errors import InvalidArgument, InvalidType
from simstrategy.short_repr import short_repr

__all__ = [
    "AGGREGATIONS",
    "ReduceOp",
    "VariableAggregation",
    "VariableSynchronization",
    "aggregation_of",
    "synchronization_of",
]


class ReduceOp(Enum):
    """How values of several replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def of(cls, value: Any) -> "ReduceOp":
        """Returns the member, also for its name in any case, and for TensorFlow's own ReduceOp.

        Raises InvalidArgument or InvalidType.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, Enum) and type(value).__name__ == cls.__name__ and value.name in cls.__members__:
            return cls[value.name]
        if isinstance(value, str):
            if value.upper() in cls.__members__:
                return cls[value.upper()]
            raise InvalidArgument(f"{value.upper()!r} is not a valid ReduceOp; use ReduceOp.SUM or ReduceOp.MEAN.")
        raise InvalidType(
            f"Expected reduce_op to be a ReduceOp, not {short_repr(value)}; use ReduceOp.SUM or ReduceOp.MEAN."
        )


class VariableSynchronization(Enum):
    """When the components of a variable are brought together."""

    AUTO = "AUTO"
    NONE = "NONE"
    ON_WRITE = "ON_WRITE"
    ON_READ = "ON_READ"


class VariableAggregation(Enum):
    """How the replicas' writes (ON_WRITE) or components (ON_READ) become one."""

    NONE = "NONE"
    SUM = "SUM"
    MEAN = "MEAN"
    ONLY_FIRST_REPLICA = "ONLY_FIRST_REPLICA"


AGGREGATIONS: Final = ", ".join(f"VariableAggregation.{one.name}" for one in VariableAggregation if one.name != "NONE")


def synchronization_of(value: Any, name: str) -> VariableSynchronization:
    """Returns how a variable of this name is synchronized.  Raises InvalidArgument for any other choice."""
    if value is None or value is VariableSynchronization.AUTO:
        return VariableSynchronization.ON_WRITE
    if value is VariableSynchronization.NONE:
        raise InvalidArgument(
            f"`NONE` variable synchronization mode is not supported with a strategy. Change the `synchronization` of "
            f"variable {name!r} to ON_WRITE or ON_READ."
        )
    if not isinstance(value, VariableSynchronization):
        raise InvalidArgument(
            f"Invalid variable synchronization mode: {short_repr(value)} for variable {name!r}; use "
            f"VariableSynchronization.AUTO, VariableSynchronization.ON_WRITE or VariableSynchronization.ON_READ."
        )
    return value


def aggregation_of(value: Any, name: str) -> VariableAggregation:
    """Returns how a variable of this name is aggregated.  Raises InvalidArgument for any other choice."""
    if value is None:
        return VariableAggregation.NONE
    if not isinstance(value, VariableAggregation):
        raise InvalidArgument(
            f"Invalid variable aggregation mode: {short_repr(value)} for variable {name!r}; use {AGGREGATIONS}."
        )
    return value
