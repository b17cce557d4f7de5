"""Steps that run as one compiled program on all ranks.  What a step is made of is the core's business.

A program is `shard_map` over the ranks, so each rank sees its own arrays, and XLA sees one program.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from simstrategy.device import Array, Backend, Capabilities, Compilation, ProgramBody
from simstrategy.errors import CannotCompile, Unsupported
from simstrategy_xla.collectives import RANKS
from simstrategy_xla.namespace import committed
from simstrategy_xla.spmd import SpmdBackend

__all__ = ["XlaCompilation", "XlaProgram"]

Arrays = tuple[Array, ...]
Form = tuple[tuple[int, ...], str]

_SPREAD = PartitionSpec(RANKS)  # type: ignore[no-untyped-call]


@final
class XlaCompilation:
    """See `simstrategy.device.Compilation`."""

    __slots__ = ("_capabilities", "_dtypes", "_mesh", "_waits")
    examined = None

    def __init__(
        self, devices: Sequence[Any], capabilities: Capabilities, dtypes: dict[str, np.dtype[Any]], *, waits: bool
    ) -> None:
        self._mesh = Mesh(np.array(devices), (RANKS,))
        self._capabilities = capabilities
        self._dtypes = dtypes
        self._waits = waits

    def trace(self, body: ProgramBody, forms: Sequence[Form]) -> None:
        """Runs `body` once without values.  Raises CannotCompile where it asks for one."""
        self._translated(lambda: jax.eval_shape(self._program(body, forms, []), *self._structs(forms)))

    def compile(self, body: ProgramBody, forms: Sequence[Form]) -> "XlaProgram":
        """Returns the program of `body`, compiled for inputs of these forms on each rank."""
        scalars: list[bool] = []
        lowered = self._translated(lambda: self._program(body, forms, scalars).lower(*self._structs(forms)))
        return XlaProgram(lowered.compile(), NamedSharding(self._mesh, _SPREAD), scalars, waits=self._waits)

    def _program(self, body: ProgramBody, forms: Sequence[Form], scalars: list[bool]) -> Any:
        """Returns the jitted function; ranks' arrays lie side by side along their first axis, scalars get one."""

        def ranked(*inputs: Array) -> Arrays:
            backend: Backend = SpmdBackend(self._mesh.size, self._capabilities, self._dtypes)
            outputs = body(
                backend,
                jax.lax.axis_index(RANKS),
                tuple([jnp.reshape(one, shape) for one, (shape, _) in zip(inputs, forms, strict=True)]),
            )
            scalars[:] = [not one.shape for one in outputs]
            return tuple([jnp.reshape(one, one.shape or (1,)) for one in outputs])

        return jax.jit(jax.shard_map(ranked, mesh=self._mesh, in_specs=_SPREAD, out_specs=_SPREAD, check_vma=False))

    def _structs(self, forms: Sequence[Form]) -> list[Any]:
        sharding = NamedSharding(self._mesh, _SPREAD)
        return [
            jax.ShapeDtypeStruct(_beside(self._mesh.size, shape), self._dtypes[dtype], sharding=sharding)  # type: ignore[no-untyped-call]
            for shape, dtype in forms
        ]

    @staticmethod
    def _translated(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, Unsupported) as error:
            said = str(error).splitlines()[0].rstrip(".")
            refusal = CannotCompile(
                f"The step asks for something that is known only when the program runs: {said}. Choose with xp.where, "
                f"take what decides as an argument that is no array, or run the step without compiling it."
            )
            for note in getattr(error, "__notes__", ()):
                if note.startswith("In replica 0: "):  # which stands for every rank
                    refusal.add_note(note)
            raise refusal from error


@final
class XlaProgram:
    """A compiled program: every rank's inputs in, every rank's outputs out."""

    __slots__ = ("_scalars", "_sharding", "_waits", "compiled")

    def __init__(self, compiled: Any, sharding: NamedSharding, scalars: Sequence[bool], *, waits: bool) -> None:
        self.compiled = compiled
        """JAX's own object: its text, memory and costs."""
        self._scalars = tuple(scalars)
        """Which outputs are scalars."""
        self._sharding = sharding
        self._waits = waits

    def __call__(self, inputs: Sequence[Arrays]) -> list[Arrays]:
        wholes = [self._whole(arrays) for arrays in inputs]
        outputs = self.compiled(*wholes)
        if self._waits:
            jax.block_until_ready(outputs)  # type: ignore[no-untyped-call]
        shards = [[shard.data for shard in output.addressable_shards] for output in outputs]
        pairs = zip(shards, self._scalars, strict=True)
        return [tuple([jnp.reshape(one, ()) for one in own] if scalar else own) for own, scalar in pairs]

    def _whole(self, arrays: Arrays) -> Array:
        shape = arrays[0].shape
        rows = [committed(array) if shape else jnp.reshape(committed(array), 1) for array in arrays]
        return jax.make_array_from_single_device_arrays(_beside(len(rows), shape), self._sharding, rows)


def _beside(count: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of `count` ranks' arrays side by side along their first axis."""
    return (count * shape[0], *shape[1:]) if shape else (count,)


if TYPE_CHECKING:
    _: Callable[..., Compilation] = XlaCompilation
