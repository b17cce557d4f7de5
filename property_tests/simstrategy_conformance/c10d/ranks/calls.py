"""All calls by name: what a rank can be sent."""

from collections.abc import Callable
from typing import Final

from simstrategy_conformance.c10d.ranks import moves, open_questions, points, reductions
from simstrategy_conformance.c10d.ranks.scene import Scene

__all__ = ["CALLS", "QUESTIONS"]

CALLS: Final[dict[str, Callable[[Scene], int | None]]] = {
    **{name: vars(reductions)[name] for name in reductions.__all__ if name != "op_of"},
    **{name: vars(moves)[name] for name in moves.__all__},
    **{name: vars(points)[name] for name in points.__all__},
}
"""Each examines one call, and returns the digest of a result that all members have to the bit, or 0.

A member that takes no part in the call returns None.
"""
QUESTIONS: Final[dict[str, Callable[[Scene], str]]] = {
    name: vars(open_questions)[name] for name in open_questions.__all__
}
"""Each returns in words what is found, "" in members that find nothing."""
