"""The optional part of a backend that makes one program of a step, and what can be said of such a program.

A backend without it has `compilation = None`: `protocol.py` is enough to write one.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from simstrategy.device.protocol import Backend, Cell

__all__ = ["Collective", "Compilation", "Facts", "Program", "ProgramBody"]

Array = Any
Form = tuple[tuple[int, ...], str]
"""The shape and dtype of an array."""


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
    """Ranks that meet; empty stands for all of them."""


class Facts(NamedTuple):
    """What a compiler says of one program, for one rank."""

    target: str
    """The devices that it was compiled for."""
    collectives: tuple[Collective, ...]
    bytes_accessed: float
    flops: float
    seconds: float
    """The compiler's own estimate of the time of one run; 0 where it makes none."""
    argument_bytes: int
    output_bytes: int
    temporary_bytes: int


class ProgramBody(Protocol):
    """What a step does on every rank: given the rank's view of the group, its number and its inputs, its outputs."""

    def __call__(self, backend: "Backend", rank: Array, inputs: tuple[Array, ...], /) -> tuple[Array, ...]: ...


class Program(Protocol):
    """A compiled step."""

    def __call__(
        self,
        inputs: Sequence[tuple[Array, ...]],
        read: Sequence[tuple["Cell", ...]],
        written: Sequence[tuple["Cell", ...]],
        /,
    ) -> Sequence[tuple[Array, ...]]:
        """Runs on all local ranks.

        inputs: every input's arrays, in rank order. read: cells whose values are the inputs after them. written: cells
        that take the first outputs. Returns the other outputs' arrays.
        """
        ...


class Compilation(Protocol):
    """Optional: makes one program for all ranks of a step whose inputs have equal forms everywhere.

    `body` is called once while tracing, with a backend of one local device that stands for every rank, and
    whose group-calls are part of the program; the rank is an array that has no value yet. forms: shape and
    dtype of each input.
    """

    def trace(self, body: ProgramBody, forms: Sequence[Form]) -> None:
        """Calls `body` for what it touches, and makes nothing.  Raises CannotCompile where it asks for a value."""
        ...

    @property
    def examined(self) -> Sequence[Facts] | None:
        """What was found in the programs made so far, in order, by a backend that looks; else None."""
        ...

    def compile(self, body: ProgramBody, forms: Sequence[Form]) -> Program:
        """Returns the program.  Raises CannotCompile."""
        ...
