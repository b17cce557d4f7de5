"""What reads and writes of a variable do: a table over synchronization × aggregation, and two rows beside it.

Each entry gives the place of the components, and the effect of a replica's write, of a write outside replica
functions, and of a read outside them. `variable.py` applies it. Source: TensorFlow 1.13.2, 1.15.5 and
2.21.0, as measured.
"""

from typing import Final, Literal, NamedTuple

from simstrategy.strategy.enums import VariableAggregation as Aggregation
from simstrategy.strategy.enums import VariableSynchronization as Synchronization
from simstrategy.strategy.kinds import Kind
from simstrategy.strategy.semantics import Semantics

__all__ = ["POLICIES", "SHARED", "SINGLE", "Policy", "has_one_component", "policy_of"]


class Policy(NamedTuple):
    """What one kind of variable does.

    component: this replica's component alone. reduce: all replicas' values are reduced. first: replica 0's component
    or value. refuse: an error. profile: depends on the semantics profile. each: every component. share: assign takes
    a total and gives each replica its share, other writes are refused.
    """

    layout: Literal["mirrored", "per_replica", "shared", "single"]
    """Equal components; one for each replica; one for all replicas; or one without rules."""
    replica_write: Literal["component", "reduce", "first", "refuse", "profile"]
    cross_write: Literal["each", "share"]
    cross_read: Literal["first", "reduce", "refuse", "profile"]

    @property
    def may_diverge(self) -> bool:
        """Whether replicas write components one by one that should be equal."""
        return self.layout == "mirrored" and self.replica_write == "component"


POLICIES: Final[dict[tuple[Synchronization, Aggregation], Policy]] = {
    (Synchronization.ON_WRITE, Aggregation.NONE): Policy("mirrored", "profile", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.SUM): Policy("mirrored", "reduce", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.MEAN): Policy("mirrored", "reduce", "each", "first"),
    (Synchronization.ON_WRITE, Aggregation.ONLY_FIRST_REPLICA): Policy("mirrored", "first", "each", "first"),
    (Synchronization.ON_READ, Aggregation.NONE): Policy("per_replica", "component", "each", "profile"),
    (Synchronization.ON_READ, Aggregation.SUM): Policy("per_replica", "component", "share", "reduce"),
    (Synchronization.ON_READ, Aggregation.MEAN): Policy("per_replica", "component", "each", "reduce"),
    (Synchronization.ON_READ, Aggregation.ONLY_FIRST_REPLICA): Policy("per_replica", "component", "each", "first"),
}
"""Variables that have a component on each replica's device."""

SHARED: Final[dict[Aggregation, Policy]] = {
    Aggregation.NONE: Policy("shared", "refuse", "each", "first"),
    Aggregation.SUM: Policy("shared", "reduce", "each", "first"),
    Aggregation.MEAN: Policy("shared", "reduce", "each", "first"),
    Aggregation.ONLY_FIRST_REPLICA: Policy("shared", "first", "each", "first"),
}
"""Variables of central storage with several replicas, whatever their synchronization."""

SINGLE: Final = Policy("single", "component", "each", "first")
"""Variables of one device, or of no strategy: each write is done where and when it is made."""


def has_one_component(kind: Kind) -> bool:
    """Returns whether variables of a kind of strategy have one component, whatever their synchronization."""
    return kind.central or not kind.wraps


def policy_of(
    kind: Kind, replicas: int, semantics: Semantics, synchronization: Synchronization, aggregation: Aggregation
) -> Policy:
    """Returns what a variable does in a strategy of this kind; `profile` is resolved."""
    if has_one_component(kind):
        return SHARED[aggregation] if kind.central and replicas > 1 else SINGLE
    layout, replica_write, cross_write, cross_read = POLICIES[synchronization, aggregation]
    if replica_write == "profile":
        replica_write = "component" if semantics.unaggregated_replica_write == "local" else "refuse"
    if cross_read == "profile":
        cross_read = "reduce" if semantics.unaggregated_on_read == "sum" else "refuse"
    return Policy(layout, replica_write, cross_write, cross_read)
