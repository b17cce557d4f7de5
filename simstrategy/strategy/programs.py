"""A compiled step: the program, and what its inputs and outputs are.  It is made and run in `compiling.py`."""

from typing import Any, NamedTuple, final

from simstrategy.device import Cell, Program
from simstrategy.strategy.variables.state import VariableState
from simstrategy.trace import Event, Request

__all__ = ["CompiledProgram", "Output"]


@final
class Output:
    """The place of an array among a program's outputs.  No named tuple, which would be a nest."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class CompiledProgram(NamedTuple):
    """A program of all ranks."""

    step: str
    """The function that it was made of, with file and line."""
    program: Program
    request: Request
    """What its runs are in a trace."""
    asked: tuple[Event, ...]
    """The step's collective calls while it was traced, in order."""
    read: tuple[VariableState, ...]
    """The variables whose cells are inputs, after the arguments."""
    written: tuple[VariableState, ...]
    """The variables whose cells take the first outputs."""
    read_cells: tuple[tuple[Cell, ...], ...]
    written_cells: tuple[tuple[Cell, ...], ...]
    diverging: tuple[VariableState, ...]
    """The written variables whose components may differ afterwards."""
    result: Any
    """What one rank returns, with `Output` in the place of arrays."""
