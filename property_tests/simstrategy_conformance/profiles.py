"""How many examples the kit draws: three profiles by name."""

from typing import Final, NamedTuple

__all__ = ["PROFILES", "Profile"]


class Profile(NamedTuple):
    """How many examples a property gets."""

    name: str
    examples: int
    replicas_max: int
    shrink: bool = True
    """Whether a counterexample is made as small as can be."""
    triples: bool = True
    """Whether short calls are tried with every triple of levels, and not with every pair alone."""
    rows_max: int | None = None
    """So many covering rows of a test are tried at most, evenly chosen, where each form is compiled; None for all."""
    scope: float = 1.0
    """The share of all combinations within a small scope that are tried."""


PROFILES: Final = {
    "quick": Profile("quick", examples=8, replicas_max=4, triples=False, scope=1 / 4),
    "default": Profile("default", examples=100, replicas_max=8),
    "deep": Profile("deep", examples=1000, replicas_max=8),
}
"""The profiles by name."""
