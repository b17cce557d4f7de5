"""Records every call that the core makes to a backend, for tests of the core.  No tests.

A program's trace (`simstrategy.trace`) is taken a layer above, where call sites are at hand.
"""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from simstrategy.device import Array, ArraySpec, Backend, Cell, Device, Op, UnifiedMemory
from simstrategy.device.wrapper import Wrapper

__all__ = ["CallRecord", "CallRecorder"]


class CallRecord(NamedTuple):
    """One call: its name, its settings, and the shape and dtype of each array that went in."""

    call: str
    settings: tuple[tuple[str, object], ...]
    arrays: tuple[tuple[tuple[int, ...], str], ...]


@final
class CallRecorder(Wrapper):
    """Wraps a backend and keeps its calls in `calls`, in order."""

    __slots__ = ("calls",)

    def __init__(self, inner: Backend) -> None:
        Wrapper.__init__(self, inner)
        self.calls: list[CallRecord] = []
        self.memory = None if inner.memory is None else _Memory(inner.memory, self._record)

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        self._record("all_reduce", arrays, op=op)
        return self._inner.all_reduce(arrays, op)

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        self._record("reduce", arrays, op=op, root=root)
        return self._inner.reduce(arrays, op, root=root)

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        self._record("broadcast", () if array is None else (array,), root=root)
        return self._inner.broadcast(array, spec=spec, root=root)

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        self._record("all_gather", arrays, axis=axis, sizes=sizes)
        return self._inner.all_gather(arrays, axis=axis, sizes=sizes)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        self._record("exchange", (), bytes=len(note))
        return self._inner.exchange(note, timeout_s=timeout_s)

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        array = self._inner.put(value, device)
        self._record("put", (array,), rank=device.rank)
        return array

    def get(self, array: Array) -> np.ndarray:
        self._record("get", (array,))
        return self._inner.get(array)

    def cell(self, initial: Array) -> Cell:
        self._record("cell", (initial,))
        return self._inner.cell(initial)

    def synchronize(self) -> None:
        self._record("synchronize", ())
        self._inner.synchronize()

    def close(self) -> None:
        self._record("close", ())
        self._inner.close()

    def _record(self, call: str, arrays: tuple[Array, ...], **settings: object) -> None:
        specs = tuple(self._inner.spec(array)[:2] for array in arrays)
        self.calls.append(CallRecord(call, tuple(sorted(settings.items())), specs))


@final
class _Memory:
    """A `UnifiedMemory` whose calls are recorded."""

    __slots__ = ("_inner", "_record")

    def __init__(self, inner: UnifiedMemory, record: Callable[..., None]) -> None:
        self._inner = inner
        self._record = record

    def share(self, array: Array, cells: tuple[Cell, ...] = ()) -> tuple[Array, ...]:
        self._record("share", (array,))
        return self._inner.share(array, cells)
