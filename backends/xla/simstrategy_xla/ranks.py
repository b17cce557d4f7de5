"""How the ranks of a group lie on devices, each on one of its own or all on one, and programs over all of them.

It has functions of one rank, arrays and devices; collectives and steps are made from them elsewhere.
"""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from simstrategy.device import Cell, Program
from simstrategy.errors import InvalidArgument
from simstrategy.values import Parts as GivenParts
from simstrategy_xla.cells import Parts, hold, whole_of
from simstrategy_xla.namespace import committed

__all__ = ["RANKS", "Form", "OnOne", "Ranks", "Spread", "Wait", "ranks_on"]

RANKS: Final = "ranks"
"""The name of the axis, for XLA's collectives."""
Arrays = tuple[jax.Array, ...]
Cells = tuple[Cell[jax.Array], ...]
Form = tuple[tuple[int, ...], Any]
"""Of one rank's array: shape and dtype."""
Ranked = Callable[..., Arrays]
"""The function of every rank, of its arrays."""

_SPREAD, _SAME = PartitionSpec(RANKS), PartitionSpec()  # type: ignore[no-untyped-call]


Wait = Callable[[Any], None]
"""Takes arrays in a nest; returns when they have values."""


class Ranks(Protocol):
    """The ranks of a group: makes one program of the function of each rank."""

    @property
    def count(self) -> int: ...

    def jitted(self, ranked: Ranked, forms: Sequence[Form], *, keep_unused: bool = False) -> Any:
        """Returns what JAX compiles for arrays of these forms; `run` and `program` call it.

        keep_unused: whether arrays that the function does not read remain arguments of what is compiled.
        """
        ...

    def structs(self, forms: Sequence[Form]) -> list[Any]:
        """Returns the program's arguments without values."""
        ...

    def run(self, call: Callable[..., Any], inputs: Sequence[Arrays]) -> list[Arrays]:
        """Returns every output's arrays [...] of the local ranks, given every input's [...]."""
        ...

    def program(self, call: Callable[..., Any]) -> Program[jax.Array]:
        """Returns a call that is made again and again, and reads and writes variables."""
        ...


def ranks_on(devices: Sequence[Any], wait: Wait) -> Ranks:
    """Returns the ranks of a group, rank r on `devices[r]`.  Raises InvalidArgument for some on one and some not."""
    different = [device for number, device in enumerate(devices) if device not in devices[:number]]
    if len(different) == len(devices):
        return Spread(devices, wait)
    if len(different) == 1:
        return OnOne(len(devices), wait)
    raise InvalidArgument(
        f"{len(devices)} replicas are to be on {len(different)} devices: {', '.join(map(str, devices))}. Give one "
        f"device for each replica, or the same one for all."
    )


@final
class Spread:
    """One rank on each device: a program is `shard_map` over them.

    The ranks' arrays lie side by side along their first axis as one array; scalars get such an axis.
    """

    __slots__ = ("_local", "_mesh", "_sharding", "count", "wait")

    def __init__(self, devices: Sequence[Any], wait: Wait) -> None:
        self.count = len(devices)
        self._mesh = Mesh(np.array(devices), (RANKS,))
        self._sharding = NamedSharding(self._mesh, _SPREAD)
        self._local = len(self._sharding.addressable_devices)
        self.wait = wait

    def jitted(self, ranked: Ranked, forms: Sequence[Form], *, keep_unused: bool = False) -> Any:
        def beside(*inputs: jax.Array) -> tuple[list[jax.Array], dict[int, jax.Array]]:
            outputs = ranked(*[jnp.reshape(one, shape) for one, (shape, _) in zip(inputs, forms, strict=True)])
            wholes = [jnp.reshape(one, one.shape or (1,)) for one in outputs]
            # A scalar is seen without the axis that it goes back in with.
            return wholes, {number: one for number, one in enumerate(outputs) if not one.shape}

        # Unchecked: what goes by one name is each rank's own.
        specs = (_SPREAD, _SAME)
        spread = jax.shard_map(beside, mesh=self._mesh, in_specs=_SPREAD, out_specs=specs, check_vma=False)
        return jax.jit(spread, keep_unused=keep_unused)

    def structs(self, forms: Sequence[Form]) -> list[Any]:
        return [
            jax.ShapeDtypeStruct(self._beside(shape), dtype, sharding=self._sharding)  # type: ignore[no-untyped-call]
            for shape, dtype in forms
        ]

    def run(self, call: Callable[..., Any], inputs: Sequence[Arrays]) -> list[Arrays]:
        outputs, awaited = self.started(call, [self.whole(arrays) for arrays in inputs], 0)
        self.wait(awaited)
        return [parts.arrays for parts in outputs]

    def program(self, call: Callable[..., Any]) -> "Remembering":
        return Remembering(self, call)

    def started(self, call: Callable[..., Any], wholes: Sequence[jax.Array], wanted: int) -> tuple[list[Parts], Any]:
        """Returns the outputs, to be cut, and what `wait` takes, of inputs [count * size, ...].

        wanted: so many outputs, the first ones, are cut at once, while the call runs.
        """
        outputs, scalars = awaited = call(*wholes)
        found = [Parts(one, functools.partial(self._parts, one, scalars.get(i))) for i, one in enumerate(outputs)]
        for parts in found[wanted:]:
            parts.cut_early()
        return found, awaited

    def whole(self, arrays: Arrays) -> jax.Array:
        """Returns the local ranks' arrays [size, ...] as the array [count * size, ...] that they are parts of."""
        shape = arrays[0].shape
        rows = [committed(array) if shape else jnp.reshape(committed(array), 1) for array in arrays]
        return jax.make_array_from_single_device_arrays(self._beside(shape), self._sharding, rows)

    def _parts(self, whole: jax.Array, scalar: jax.Array | None) -> Arrays:
        if scalar is not None:
            return tuple([shard.data for shard in scalar.addressable_shards])
        if whole.size:
            return tuple([whole.addressable_data(number) for number in range(self._local)])
        # JAX keeps an array without elements whole on every device.
        return tuple([shard.data[: whole.shape[0] // self.count] for shard in whole.addressable_shards])

    def _beside(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        first, *rest = shape or (1,)
        return (first * self.count, *rest)


@final
class Remembering:
    """A program that keeps its last arguments and results, and the whole arrays that they are parts of.

    Many of them are arguments of the next step, whose whole array then exists already. One step's arguments and
    results stay alive.
    """

    __slots__ = ("_call", "_known", "_ranks")

    def __init__(self, ranks: Spread, call: Callable[..., Any]) -> None:
        self._ranks = ranks
        self._call = call
        self._known: list[tuple[Arrays, jax.Array]] = []

    def __call__(
        self, inputs: Sequence[Arrays | GivenParts], read: Sequence[Cells], written: Sequence[Cells]
    ) -> list[Arrays]:
        """See `simstrategy.device.Program`."""
        known, self._known = self._known, []
        wholes = [self._whole(_arrays(one), known) for one in inputs]
        for cells in read:
            whole = whole_of(cells)
            wholes.append(self._whole(tuple([cell.read() for cell in cells]), known) if whole is None else whole)
        outputs, awaited = self._ranks.started(self._call, wholes, len(written))
        known.clear()  # what only the last step needed goes while this one runs
        self._ranks.wait(awaited)
        for cells, parts in zip(written, outputs, strict=False):
            if parts.whole.size:
                hold(cells, parts)
            else:  # which JAX gives back whole on every device, and does not take so
                for cell, array in zip(cells, parts.arrays, strict=True):
                    cell.write(array)
        results = outputs[len(written) :]
        self._known += [(parts.arrays, parts.whole) for parts in results if parts.whole.size]
        return [parts.arrays for parts in results]

    def _whole(self, arrays: Arrays, known: Sequence[tuple[Arrays, jax.Array]]) -> jax.Array:
        whole = _found(known, arrays)
        if whole is None:
            whole = self._ranks.whole(arrays)
        self._known.append((arrays, whole))
        return whole


def _arrays(given: Arrays | GivenParts) -> Arrays:
    return given if isinstance(given, tuple) else given.arrays


def _found(known: Sequence[tuple[Arrays, jax.Array]], arrays: Arrays) -> jax.Array | None:
    for parts, whole in known:
        if parts[0] is arrays[0] and all(map(operator.is_, parts, arrays)):
            return whole
    return None


@final
class OnOne:
    """All ranks on one device: a program is `vmap` over them."""

    __slots__ = ("_wait", "count")

    def __init__(self, count: int, wait: Wait) -> None:
        self.count = count
        self._wait = wait

    def jitted(self, ranked: Ranked, forms: Sequence[Form], *, keep_unused: bool = False) -> Any:
        mapped = jax.vmap(ranked, axis_name=RANKS, axis_size=self.count)

        def together(*inputs: Arrays) -> list[Arrays]:
            outputs = mapped(*[jnp.stack(arrays) for arrays in inputs])
            return [tuple([one[rank] for rank in range(self.count)]) for one in outputs]

        return jax.jit(together, keep_unused=keep_unused)

    def structs(self, forms: Sequence[Form]) -> list[Any]:
        return [(jax.ShapeDtypeStruct(shape, dtype),) * self.count for shape, dtype in forms]  # type: ignore[no-untyped-call]

    def run(self, call: Callable[..., Any], inputs: Sequence[Arrays]) -> list[Arrays]:
        outputs: list[Arrays] = call(*[tuple(arrays) for arrays in inputs])
        self._wait(outputs)
        return outputs

    def program(self, call: Callable[..., Any]) -> Program[jax.Array]:
        def run(inputs: Sequence[Arrays | GivenParts], read: Sequence[Cells], written: Sequence[Cells]) -> list[Arrays]:
            values = [tuple([cell.read() for cell in cells]) for cells in read]
            outputs = self.run(call, [*map(_arrays, inputs), *values])
            for cells, arrays in zip(written, outputs, strict=False):
                for cell, array in zip(cells, arrays, strict=True):
                    cell.write(array)
            return outputs[len(written) :]

        return run
