"""The enumerations of the public surface, with TensorFlow's names."""

from enum import Enum
from typing import Any

from simstrategy.errors import InvalidArgument, InvalidType

__all__ = ["ReduceOp", "VariableAggregation", "VariableSynchronization"]


class ReduceOp(Enum):
    """How values of several replicas become one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def of(cls, value: Any) -> "ReduceOp":
        """Returns the member, also for its name in any case.  Raises InvalidArgument or InvalidType."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            if value.upper() in cls.__members__:
                return cls[value.upper()]
            raise InvalidArgument(f"{value.upper()!r} is not a valid ReduceOp; use ReduceOp.SUM or ReduceOp.MEAN.")
        raise InvalidType(f"Expected reduce_op to be a ReduceOp, not {value!r}; use ReduceOp.SUM or ReduceOp.MEAN.")


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
