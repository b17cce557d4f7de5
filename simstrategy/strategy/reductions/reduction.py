"""Sums, means and gathers over replicas: what meetings answer, written once over the device layer.

The denominators are here, the additions are the backend's. MEAN sums first and divides once; integers
become floats on the way, as TensorFlow's do.
"""

import operator
from collections.abc import Sequence
from typing import Any, Final, SupportsIndex, cast, final

from simstrategy.device import Array, Backend, UnifiedMemory
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.run import Sizes
from simstrategy.trace import Request

__all__ = ["MEAN_DTYPES", "Reductions"]

MEAN_DTYPES: Final = {
    "int8": "float32",
    "uint8": "float32",
    "int16": "float32",
    "uint16": "float32",
    "int32": "float64",
    "uint32": "float64",
    "int64": "float64",
    "uint64": "float64",
}
"""The dtype in which integers are averaged; other dtypes keep theirs.  Source: TensorFlow 1.15.5, 2.21.0."""


@final
class Reductions:
    """The answers to collective requests of one group."""

    __slots__ = ("_backend", "_count", "_is_alone", "share")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._count = len(backend.devices)
        self._is_alone = len(backend.local_devices) == self._count
        unified = backend.capabilities.unified_memory
        self.share = cast("UnifiedMemory", backend).share if unified else None
        """Where all local devices have one memory: hands an array that only the core has to all of them."""

    # Answers to meetings: (request, payloads of the local lanes, every rank's size) -> answers of the lanes.

    def one(self, request: Request, arrays: list[Array], sizes: Sizes) -> Sequence[Array]:
        """All-reduces one array."""
        if request.op == "SUM":
            return self._backend.all_reduce(tuple(arrays), "SUM")
        return self.all_reduce(request.op, tuple(arrays))

    def many(self, request: Request, leaves: list[Sequence[Array]], sizes: Sizes) -> Sequence[tuple[Array, ...]]:
        """All-reduces a nest, leaf by leaf."""
        reduced = [self.all_reduce(request.op, arrays) for arrays in zip(*leaves, strict=True)]
        return list(zip(*reduced, strict=True)) if reduced else [()] * len(leaves)

    def gather(self, request: Request, arrays: list[Array], sizes: Sizes) -> Sequence[Array]:
        assert request.axis is not None
        return self._backend.all_gather(tuple(arrays), axis=request.axis, sizes=sizes)

    def sizes(self, request: Request, payloads: list[None], sizes: Sizes) -> Sequence[Sizes]:
        return [sizes] * len(payloads)

    # Arithmetic.

    def all_reduce(self, op: str | None, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Returns the SUM or MEAN of all ranks' arrays, for each local rank."""
        totals = self._backend.all_reduce(arrays, "SUM")
        if op != "MEAN" or self._count == 1:
            return totals
        return self.on_each(lambda total: self.divide(total, self._count), totals)

    def total(self, arrays: tuple[Array, ...]) -> Array:
        """Returns the sum of all ranks' arrays, on rank 0 where that is local, else on this process's first."""
        if self._is_alone:
            return self._backend.reduce(arrays, "SUM", root=0)
        return self._backend.all_reduce(arrays, "SUM")[0]

    def on_first(self, op: str | None, arrays: tuple[Array, ...]) -> Array:
        """Returns the SUM or MEAN of all ranks' arrays on the device of `total`."""
        total = self.total(arrays)
        return self.divide(total, self._count) if op == "MEAN" and self._count > 1 else total

    def divide(self, total: Array, count: int | Array) -> Array:
        """Divides by a count, in the dtype that a mean has.  An array, where it is not known before a graph runs."""
        xp = self._backend.xp
        _, dtype, _ = self._backend.spec(total)
        if dtype in MEAN_DTYPES:
            wanted = MEAN_DTYPES[dtype]
            if wanted not in self._backend.capabilities.dtypes:
                raise Unsupported(
                    f"The mean of {dtype} is {wanted}, which backend {self._backend.name!r} cannot hold as it was "
                    f"opened. Cast to float32 before the mean, or open the backend with 64-bit numbers."
                )
            total = xp.astype(total, wanted)
        if isinstance(count, self._backend.array_types):
            return xp.divide(total, xp.astype(count, self._backend.spec(total)[1]))
        return xp.divide(total, float(count) if count else 0.0)

    def on_each(self, function: Any, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Applies a function to equal arrays on each device: once, where all devices have one memory."""
        backend = self._backend
        devices = backend.local_devices
        if self.share is not None:
            with backend.on(devices[0]):
                first = function(arrays[0])
            return self.share(first)
        results = []
        for array, device in zip(arrays, devices, strict=True):
            with backend.on(device):
                results.append(function(array))
        return tuple(results)

    # Checks at the door.

    def require_numbers(self, specs: Sequence[tuple[tuple[int, ...], str]], call: str) -> None:
        for _, dtype in specs:
            if dtype == "bool":
                raise InvalidArgument(f"{call} got bool, which has no sum. Cast it first: xp.astype(x, 'int32').")

    def axis_in(self, axis: object, shape: tuple[int, ...], call: str) -> int:
        """Returns the axis counted from the front.  Raises InvalidArgument where the shape has none such."""
        if isinstance(axis, bool) or not isinstance(axis, SupportsIndex):
            raise InvalidArgument(f"{call} takes an int as axis, got {axis!r}.")
        number = operator.index(axis)
        if not -len(shape) <= number < len(shape):
            raise InvalidArgument(
                f"Invalid reduction dimension {axis} for input with {len(shape)} dimensions: {call} got shape "
                f"{list(shape)}. Use an axis from {-len(shape)} to {len(shape) - 1}."
                if shape
                else f"Invalid reduction dimension {axis} for input with 0 dimensions: {call} got a scalar, which has "
                f"no axis. Give it a dimension{', or use axis=None' if call == 'reduce' else ''}."
            )
        return number % len(shape)

    def axes_in(self, axis: int | tuple[int, ...], shape: tuple[int, ...], call: str) -> tuple[int, ...]:
        """Returns the axes counted from the front, each once."""
        axes = tuple(self.axis_in(one, shape, call) for one in (axis if isinstance(axis, tuple) else (axis,)))
        if len(set(axes)) != len(axes):
            raise InvalidArgument(f"{call} got the axes {axis} of shape {list(shape)}: each may be named once.")
        return axes
