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


PROFILES: Final = {
    "quick": Profile("quick", examples=12, replicas_max=4),
    "default": Profile("default", examples=100, replicas_max=8),
    "deep": Profile("deep", examples=1000, replicas_max=8),
}
"""The profiles by name."""
