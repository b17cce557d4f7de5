"""`Compilation` of the simulator: a step is recorded once, and its calls are made on stacked arrays from then on."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

from simstrategy.device import Capabilities, Compilation, ProgramBody
from simstrategy.sim.arrays import SimArray
from simstrategy.sim.dtypes import dtype_named
from simstrategy.sim.namespace import SimNamespace
from simstrategy.sim.stacked.program import StackedProgram
from simstrategy.sim.stacked.tape import Tape
from simstrategy.sim.stacked.traced import made
from simstrategy.sim.stacked.view import StackedBackend

__all__ = ["StackedCompilation"]

Form = tuple[tuple[int, ...], str]


@final
class StackedCompilation:
    """See `simstrategy.device.Compilation`.

    kinds: the array class of each rank. order: of additions, by name.
    """

    __slots__ = ("_capabilities", "_kinds", "_order", "_xp")
    examined = None

    def __init__(
        self, kinds: tuple[type[SimArray], ...], capabilities: Capabilities, xp: SimNamespace, order: str
    ) -> None:
        self._kinds = kinds
        self._capabilities = capabilities
        self._xp = xp
        self._order = order

    def trace(self, body: ProgramBody[Any], forms: Sequence[Form]) -> None:
        """Calls `body` once.  Raises CannotCompile where it reads a value."""
        self.compile(body, forms)

    def compile(self, body: ProgramBody[Any], forms: Sequence[Form]) -> StackedProgram:
        """Returns the program of `body` for inputs of these forms on each rank."""
        tape = Tape(self._kinds[0], made)
        rank = tape.argument((), dtype_named("int32"))
        inputs = [tape.argument(shape, dtype_named(dtype)) for shape, dtype in forms]
        view = StackedBackend(len(self._kinds), self._capabilities, tape, self._xp, self._order)
        outputs = body(view, rank, tuple(inputs))
        tape.require_own(list(outputs))
        return StackedProgram(tape, self._kinds, rank.slot, [one.slot for one in inputs], [one.slot for one in outputs])


if TYPE_CHECKING:
    _: Callable[..., Compilation[Any]] = StackedCompilation
