"""Steps that run as one compiled program on all ranks.  The core decides what a step consists of."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import jax
import numpy as np

from simstrategy.device import Backend, Capabilities, Compilation, Program, ProgramBody
from simstrategy.errors import CannotCompile, Unsupported
from simstrategy_xla.axis_names import explained
from simstrategy_xla.namespace import NO_VALUE
from simstrategy_xla.ranks import RANKS, Ranks
from simstrategy_xla.spmd import SpmdBackend

__all__ = ["Form", "JaxBody", "JaxProgram", "XlaCompilation"]

JaxBody = ProgramBody[jax.Array]
JaxProgram = Program[jax.Array]

Arrays = tuple[jax.Array, ...]
Form = tuple[tuple[int, ...], str]


@final
class XlaCompilation:
    """See `simstrategy.device.Compilation`."""

    __slots__ = ("_capabilities", "_dtypes", "_ranks")
    examined = None

    def __init__(self, ranks: Ranks, capabilities: Capabilities, dtypes: dict[str, np.dtype[Any]]) -> None:
        self._ranks = ranks
        self._capabilities = capabilities
        self._dtypes = dtypes

    def trace(self, body: JaxBody, forms: Sequence[Form]) -> None:
        """Runs `body` once without values.  Raises CannotCompile where it reads one."""
        jitted, structs = self._jitted(body, forms)
        self._translated(lambda: jax.eval_shape(jitted, *structs))

    def compile(self, body: JaxBody, forms: Sequence[Form]) -> JaxProgram:
        """Returns the program of `body`, compiled for inputs of these forms on each rank."""
        return self._ranks.program(self.compiled(body, forms))

    def compiled(self, body: JaxBody, forms: Sequence[Form]) -> Any:
        """Returns JAX's own object of it: its text, memory and costs."""
        jitted, structs = self._jitted(body, forms)
        return self._translated(lambda: jitted.lower(*structs)).compile()

    def lowered(self, body: JaxBody, forms: Sequence[Form]) -> Any:
        """Returns JAX's own object of what is compiled: its module of StableHLO, of all inputs, used or not."""
        jitted, structs = self._jitted(body, forms, keep_unused=True)
        return self._translated(lambda: jitted.lower(*structs))

    def _jitted(self, body: JaxBody, forms: Sequence[Form], *, keep_unused: bool = False) -> tuple[Any, list[Any]]:
        def ranked(*inputs: jax.Array) -> Arrays:
            backend: Backend[jax.Array] = SpmdBackend(self._ranks.count, self._capabilities, self._dtypes)
            return body(backend, jax.lax.axis_index(RANKS), inputs)

        native = [(shape, self._dtypes[dtype]) for shape, dtype in forms]
        return self._ranks.jitted(ranked, native, keep_unused=keep_unused), self._ranks.structs(native)

    @staticmethod
    def _translated(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except NameError as error:
            found = explained(error)
            if found is None:
                raise
            raise found from error
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, Unsupported) as error:
            if isinstance(error, Unsupported) and NO_VALUE not in str(error):
                raise  # unsupported in tasks as well, not only while a step is compiled
            cause = str(error).splitlines()[0].rstrip(".")
            refusal = CannotCompile(
                f"The step reads a value that is known only when the program runs: {cause}. Choose with xp.where, "
                f"take what decides as an argument that is no array, or run the step without compiling it."
            )
            for note in getattr(error, "__notes__", ()):
                if note.startswith("In replica 0: "):  # which stands for every rank
                    refusal.add_note(note)
            raise refusal from error


if TYPE_CHECKING:
    _: type[Compilation[jax.Array]] = XlaCompilation
