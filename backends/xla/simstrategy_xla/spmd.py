"""One rank's view of the group while one program is traced for all of them: a `Backend` of a single local device.

Every rank runs the same program, so this is what a process group with one local replica is to the core: its
device goes by the name of rank 0, which stands for all. Its group-calls are XLA's, and nothing in it has a
value before the program runs.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, final

import jax
import jax.numpy as jnp
import numpy as np

from simstrategy.device import PROTOCOL_VERSION, ArraySpec, Backend, Capabilities, Device, GroupFunction, Op
from simstrategy.errors import CannotCompile
from simstrategy_xla.collectives import chosen, joined, total
from simstrategy_xla.namespace import XlaNamespace

__all__ = ["SpmdBackend"]

_PLACEMENT: Final = "every rank"

Arrays = tuple[jax.Array, ...]


@final
class SpmdAutodiff:
    """See `simstrategy.device.Autodiff`: what is sent back goes through `backward`, not through XLA's own rule."""

    def tracks(self, array: Any) -> bool:
        """Returns True: while JAX traces, a gradient may come of everything."""
        return True

    def differentiable(
        self, forward: GroupFunction[jax.Array], backward: GroupFunction[jax.Array], arrays: Arrays
    ) -> Arrays:
        apply: Any = jax.custom_vjp(lambda *values: forward(values))

        def gradient(forms: tuple[Any, ...], upstream: Arrays) -> tuple[Any, ...]:
            sent = tuple([given if _is_smooth(given) else jnp.zeros(given.shape, jnp.int32) for given in upstream])
            found = zip(forms, self.differentiable(backward, forward, sent), strict=True)
            return tuple([own if _is_smooth(form) else np.zeros(form.shape, jax.dtypes.float0) for form, own in found])

        apply.defvjp(lambda *values: (forward(values), values), gradient)
        answer: Arrays = apply(*arrays)
        return answer


def _is_smooth(array: jax.Array) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


@final
class SpmdBackend:
    """The group of `count` ranks as each of them sees it.  Made while tracing inside `shard_map` over the ranks."""

    name = "xla"
    protocol_version = PROTOCOL_VERSION
    array_types = (jax.Array,)
    autodiff = SpmdAutodiff()
    composites = None
    memory = None
    forms = None
    frontend = None
    compilation = None

    def __init__(self, count: int, capabilities: Capabilities, dtypes: dict[str, np.dtype[Any]]) -> None:
        self.capabilities = capabilities
        # As of several processes: a rank receives the others' notes, and all notes are equal.
        self.devices = tuple([Device(rank, rank, _PLACEMENT) for rank in range(count)])
        self.local_devices = self.devices[:1]
        self.xp = XlaNamespace((None,), dtypes)

    def on(self, device: Device) -> AbstractContextManager[None]:
        return nullcontext()

    def synchronize(self) -> None:
        """Does nothing: nothing runs while a program is traced."""

    def close(self) -> None:
        """Does nothing: it holds nothing."""

    def put(self, value: np.ndarray | jax.Array, device: Device) -> jax.Array:
        array: jax.Array = self.xp.asarray(value)
        return array

    def get(self, array: jax.Array) -> np.ndarray:
        raise CannotCompile(
            f"A compiled step asked for the value of {array.dtype}{list(array.shape)}, which is known only when the "
            f"program runs. Return it from the step, and read it there."
        )

    def spec(self, array: jax.Array) -> ArraySpec:
        return ArraySpec(array.shape, array.dtype.name, _PLACEMENT)

    def cell(self, initial: jax.Array) -> "SpmdCell":
        return SpmdCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        return (total(arrays[0], op),)

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> jax.Array:
        return total(arrays[0], op)

    def broadcast(self, array: jax.Array | None, *, spec: ArraySpec, root: int) -> Arrays:
        assert array is not None  # one device stands for every rank, so the root is local
        return (chosen(array, root),)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        return (joined(arrays[0], axis, sizes),)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note as every rank's: all run the same program."""
        return (note,) * len(self.devices)

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    def source(self, frame: FrameType) -> tuple[str, int]:
        return frame.f_code.co_filename, frame.f_lineno


@final
class SpmdCell:
    """A variable's component while a program is traced: the last value that was written."""

    __slots__ = ("native",)

    def __init__(self, initial: jax.Array) -> None:
        self.native = initial

    def read(self) -> jax.Array:
        return self.native

    def write(self, value: jax.Array) -> None:
        self.native = value


if TYPE_CHECKING:
    _: Callable[..., Backend[jax.Array]] = SpmdBackend
