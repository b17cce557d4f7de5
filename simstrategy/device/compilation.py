"""What a compiler reports of a compiled step: its collectives, its memory, its cost.

The optional part of a backend that compiles is `Compilation`, in `protocol.py`.
"""

from typing import NamedTuple

__all__ = ["Collective", "Facts"]


class Collective(NamedTuple):
    """One array that the ranks combine or exchange in a program."""

    kind: str
    """The compiler's name: "all-reduce", "all-gather", …"""
    reducer: str | None
    """"SUM", "MAX", "MIN", …; None where nothing is combined."""
    dtype: str
    elements: int
    """Of the result on each rank."""
    groups: tuple[tuple[int, ...], ...]
    """The ranks that combine; empty for all of them."""


class Facts(NamedTuple):
    """What a compiler reports of one program, for one rank."""

    target: str
    """The devices that it was compiled for."""
    collectives: tuple[Collective, ...]
    bytes_accessed: float
    flops: float
    seconds: float
    """The compiler's estimate of the time of one run, in seconds; 0 where it makes none."""
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int
