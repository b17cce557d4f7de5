"""Where the versions of TensorFlow differ: one named field per difference, and three values of them.

Nothing else in the project knows a version.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

__all__ = ["Semantics"]


@dataclass(frozen=True, slots=True)
class Semantics:
    """One profile.  Every name of the public surface exists in every profile."""

    name: str
    release: str
    """The release of TensorFlow whose measured behaviour the profile stands for."""
    unaggregated_replica_write: Literal["refuse", "local"]
    """What a replica's write to an ON_WRITE variable with aggregation NONE does."""
    on_read_sum_assign: Literal["multiply", "divide"]
    """How a cross-replica assign shares a total out: value * (1 / N), or value / N cast to the dtype."""
    on_read_none_write: Literal["write", "write_then_refuse"]
    """What a cross-replica write to an ON_READ variable with aggregation NONE does."""
    integer_mean_variable: Literal["accept", "refuse"]
    """Whether a variable of integers may have aggregation MEAN."""

    TF1_13: ClassVar["Semantics"]
    TF1_15: ClassVar["Semantics"]
    TF2: ClassVar["Semantics"]


Semantics.TF1_13 = Semantics("TF1_13", "1.13.2", "refuse", "multiply", "write", "accept")
Semantics.TF1_15 = Semantics("TF1_15", "1.15.5", "refuse", "multiply", "write", "accept")
Semantics.TF2 = Semantics("TF2", "2.21.0", "local", "divide", "write", "refuse")
