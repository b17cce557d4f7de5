"""Where the versions of TensorFlow differ: one named field per difference, and three values of them.

Nothing else in the project knows a version.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal

__all__ = ["PROFILES", "Semantics"]


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
    integer_mean_variable: Literal["accept", "refuse"]
    """Whether a variable of integers may have aggregation MEAN."""

    TF1_13: ClassVar["Semantics"]
    TF1_15: ClassVar["Semantics"]
    TF2: ClassVar["Semantics"]


Semantics.TF1_13 = Semantics("TF1_13", "1.13.2", "refuse", "multiply", "accept")
Semantics.TF1_15 = Semantics("TF1_15", "1.15.5", "refuse", "multiply", "accept")
Semantics.TF2 = Semantics("TF2", "2.21.0", "local", "divide", "refuse")

PROFILES: Final = {profile.name: profile for profile in (Semantics.TF1_13, Semantics.TF1_15, Semantics.TF2)}
"""The profiles by name."""
