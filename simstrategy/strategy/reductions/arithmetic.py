"""Sums, means and gathers over replicas, written once over the device layer.

The divisors are here, the additions are the backend's. MEAN sums first and divides once; integers become floats on the
way, as in TensorFlow.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from simstrategy.device import Array, ArraySpec, Backend
from simstrategy.errors import Unsupported
from simstrategy.run import Sizes
from simstrategy.trace import Request, Site

__all__ = ["MEAN_DTYPES", "Probe", "Reductions"]

Probe = Callable[[str, Sequence[Array], Site], None]
"""Receives the inputs of a `reduce`: the call, the local replicas' arrays, the call site."""

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
    """The results of the collective requests of one group."""

    __slots__ = ("_backend", "_count", "_is_alone", "probe", "share")

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._count = len(backend.devices)
        self._is_alone = len(backend.local_devices) == self._count
        self.share = None if backend.memory is None else backend.memory.share
        """Where all local devices have one memory: returns an array that only the core refers to on each of them."""
        self.probe: Probe | None = None
        """For checks: called before each replica's array is summed along its axis."""

    # `Resolve` of pending calls: (request, payloads of the local tasks, every rank's size) -> answers of the tasks.

    def one(self, request: Request, arrays: Sequence[Array], sizes: Sizes) -> Sequence[Array]:
        """All-reduces one array.  arrays: [any shape] of each local replica."""
        if request.op == "SUM":
            return self._backend.all_reduce(tuple(arrays), "SUM")
        return self.all_reduce(request.op, tuple(arrays))

    def many(self, request: Request, leaves: Sequence[Sequence[Array]], sizes: Sizes) -> Sequence[tuple[Array, ...]]:
        """All-reduces a nest, leaf by leaf.  leaves: of each local replica its arrays [any shape]."""
        reduced = [self.all_reduce(request.op, arrays) for arrays in zip(*leaves, strict=True)]
        return list(zip(*reduced, strict=True)) if reduced else [()] * len(leaves)

    def gather(self, request: Request, arrays: Sequence[Array], sizes: Sizes) -> Sequence[Array]:
        assert request.axis is not None
        return self._backend.all_gather(tuple(arrays), axis=request.axis, sizes=sizes)

    def sizes(self, request: Request, payloads: Sequence[None], sizes: Sizes) -> Sequence[Sizes]:
        return [sizes] * len(payloads)

    # Arithmetic.

    def all_reduce(self, op: str | None, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Returns the SUM or MEAN of all ranks' arrays, one for each local rank.

        arrays: one [any shape] of each local rank. Raises Unsupported, as `divide`, and PeerFailed.
        """
        if op != "MEAN" or self._count == 1:
            return self._backend.all_reduce(arrays, "SUM")
        if self._is_alone and self._backend.capabilities.combines_on_one:
            mean = self.on_first(op, arrays)
            return self._backend.broadcast(mean, spec=ArraySpec(*self._backend.spec(mean)), root=0)
        return self.on_each(lambda total: self.divide(total, self._count), self._backend.all_reduce(arrays, "SUM"))

    def total(self, arrays: tuple[Array, ...]) -> Array:
        """Returns the sum of all ranks' arrays [any shape], on rank 0 if that is local, else on the first here."""
        if self._is_alone:
            total = self._backend.reduce(arrays, "SUM", root=0)
            assert total is not None  # rank 0 is local
            return total
        return self._backend.all_reduce(arrays, "SUM")[0]

    def on_first(self, op: str | None, arrays: tuple[Array, ...]) -> Array:
        """Returns the SUM or MEAN of all ranks' arrays [any shape], on the device of `total`."""
        total = self.total(arrays)
        return self.divide(total, self._count) if op == "MEAN" and self._count > 1 else total

    def divide(self, total: Array, count: int | Array) -> Array:
        """Returns a total [any shape] divided by a count, in the dtype of a mean (`MEAN_DTYPES`).

        count: a number, or an array [] where a graph computes it. Raises Unsupported where the backend does not have
        that dtype.
        """
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
        number: Any = count  # mypy does not narrow by a tuple of types
        return xp.divide(total, float(number) if number else 0.0)

    def on_each(self, function: Callable[[Array], Array], arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Applies a function to equal arrays [any shape], one on each device: once, where they share a memory."""
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

    def from_rank_0(self, array: Array | None, shape: tuple[int, ...], dtype: str) -> tuple[Array, ...]:
        """Returns rank 0's array [shape] on every local device; the argument of other processes is ignored."""
        backend = self._backend
        local = backend.local_devices
        if self._is_alone:
            assert array is not None
            return tuple([backend.put(array, device) for device in local])
        first = backend.devices[0]
        root = array if local[0].process == first.process else None
        return backend.broadcast(root, spec=ArraySpec(shape, dtype, first.placement), root=0)
