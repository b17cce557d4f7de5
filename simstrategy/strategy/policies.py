"""What reads and writes of a variable do: a table over synchronization × aggregation.

Each entry says what happens to a replica's write, to a write outside replica functions, and to a read
outside them. `variables.py` carries it out. Source: TensorFlow 1.15.5 and 2.21.0, as measured.
"""

from typing import Final, Literal, NamedTuple

from simstrategy.strategy.enums import VariableAggregation as Aggregation
from simstrategy.strategy.enums import VariableSynchronization as Synchronization

__all__ = ["POLICIES", "Policy"]


class Policy(NamedTuple):
    """What one kind of variable does.

    own: this replica's component. reduce: all replicas meet. first: replica 0's component or value.
    refuse: an error. profile: what the semantics profile says. each: every component. share: assign takes
    a total and shares it out, other writes are refused.
    """

    replica_write: Literal["own", "reduce", "first", "profile"]
    cross_write: Literal["each", "share"]
    cross_read: Literal["first", "reduce", "refuse"]


POLICIES: Final[dict[tuple[Synchronization, Aggregation], Policy]] = {
    (Synchronization.ON_WRITE, Aggregation.NONE): Policy("profile", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.SUM): Policy("reduce", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.MEAN): Policy("reduce", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.ONLY_FIRST_REPLICA): Policy("first", "each", "first"),
    (Synchronization.ON_READ, Aggregation.NONE): Policy("own", "each", "refuse"),
    (Synchronization.ON_READ, Aggregation.SUM): Policy("own", "share", "reduce"),
    (Synchronization.ON_READ, Aggregation.MEAN): Policy("own", "each", "reduce"),
    (Synchronization.ON_READ, Aggregation.ONLY_FIRST_REPLICA): Policy("own", "each", "first"),
}
