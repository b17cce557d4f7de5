"""One rank's call as it travels to the process that matches calls, and its text.  No torch here."""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from simstrategy.run.call_paths import described
from simstrategy.trace import Request

__all__ = ["ADDRESSED", "ANY", "JOINS", "Call", "Leaf", "call_text", "request_of", "shapes_differ", "unlike"]

JOINS: Final = frozenset({"init_process_group", "new_group"})
"""The kinds of calls that create a group: every member makes it.  Only the first group has no subject."""
ANY: Final = -1
"""In place of a peer: a receive from any rank."""
ADDRESSED: Final = frozenset({"all_to_all", "reduce_scatter", "scatter"})
"""Kinds of which each rank reads one part of the others' data."""
_UNEVEN: Final = frozenset({"all_to_all"})
"""Kinds in which ranks may have arrays of different sizes: what they exchange is compared by pairs."""

Leaf: TypeAlias = Sequence[Any]
"""Shape and dtype of a tensor, as in [[4, 2], "float32"]."""


class Call(NamedTuple):
    """A call of one rank; it travels as a list, after the word "call"."""

    number: int
    """Of this rank's calls."""
    group: int
    """The number that the group got when it was created; for the call that creates it, -1."""
    kind: str
    op: str | None
    subject: str | None
    """What else is compared: the root, or the name and ranks of a new group."""
    leaves: Sequence[Leaf]
    site: Sequence[Any]
    """File and line."""
    peer: int | None
    """The other member of a send or receive, by its number in the group, or `ANY`."""
    tag: int
    parts: Sequence[int]
    """Where the rank has put its data, in bytes from the start of its region."""
    sizes: Sequence[Sequence[int]]
    """Of a call with splits: how many elements it sends to each member, and expects from each."""
    waits: bool
    """Whether the rank waits for the answer from now on."""


def request_of(call: Call) -> Request:
    """Returns what is compared of a call."""
    leaves = tuple([(tuple(shape), dtype) for shape, dtype in call.leaves])
    return Request(call.kind, call.op, None, call.subject, None, leaves)


def call_text(call: Call) -> str:
    """Returns a call as text for messages, as in "broadcast root 0 float32[128] at ddp.py:13"."""
    if not call.site[0]:
        return described(request_of(call), ("outside of the script", 0)).removesuffix(":0")
    return described(request_of(call), (call.site[0], call.site[1]))


def unlike(first: Call, other: Call) -> bool:
    """Returns whether two members' calls are not one collective call."""
    if (first.kind, first.op, first.subject) != (other.kind, other.op, other.subject):
        return True
    if first.leaves == other.leaves:
        return False
    return len(first.leaves) != len(other.leaves) or any(
        dtype1 != dtype2 or (first.kind not in _UNEVEN and math.prod(shape1) != math.prod(shape2))
        for (shape1, dtype1), (shape2, dtype2) in zip(first.leaves, other.leaves, strict=True)
    )


def shapes_differ(first: Call, other: Call) -> bool:
    """Returns whether two equal calls have tensors of equal sizes and different shapes."""
    return first.kind not in _UNEVEN and first.leaves != other.leaves
