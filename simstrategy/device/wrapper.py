"""The base of all wrappers of a backend: it forwards every call and every optional part.

Abstract: a final class overrides the calls that it examines and calls the backend as `self._inner`. One that examines
the calls of an optional part sets that part to an object of its own.
"""

from abc import ABC
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

import numpy as np

from simstrategy.device.frontend import Composites, Frontend
from simstrategy.device.namespace import ArrayNamespace
from simstrategy.device.optional import Autodiff, Forms, UnifiedMemory
from simstrategy.device.protocol import Backend, Compilation
from simstrategy.device.terms import Array, ArraySpec, Capabilities, Cell, Device, Op, Spec

__all__ = ["Wrapper"]


class Wrapper(ABC):  # noqa: B024 - abstract by agreement: only final classes are made
    """A backend that forwards everything to the backend inside it."""

    __slots__ = (
        "_inner",
        "array_types",
        "autodiff",
        "capabilities",
        "compilation",
        "composites",
        "devices",
        "forms",
        "frontend",
        "local_devices",
        "memory",
        "name",
        "protocol_version",
        "xp",
    )

    def __init__(self, inner: Backend) -> None:
        self._inner = inner
        self.name: str = inner.name
        self.protocol_version: int = inner.protocol_version
        self.capabilities: Capabilities = inner.capabilities
        self.devices: tuple[Device, ...] = inner.devices
        self.local_devices: tuple[Device, ...] = inner.local_devices
        self.array_types: tuple[type[Array], ...] = inner.array_types
        self.xp: ArrayNamespace = inner.xp
        self.autodiff: Autodiff | None = inner.autodiff
        self.memory: UnifiedMemory | None = inner.memory
        self.forms: Forms | None = inner.forms
        self.compilation: Compilation | None = inner.compilation
        self.frontend: Frontend | None = inner.frontend
        self.composites: Composites | None = inner.composites

    def all_reduce(self, arrays: tuple[Array, ...], op: Op) -> tuple[Array, ...]:
        return self._inner.all_reduce(arrays, op)

    def reduce(self, arrays: tuple[Array, ...], op: Op, *, root: int) -> Array | None:
        return self._inner.reduce(arrays, op, root=root)

    def broadcast(self, array: Array | None, *, spec: ArraySpec, root: int) -> tuple[Array, ...]:
        return self._inner.broadcast(array, spec=spec, root=root)

    def all_gather(self, arrays: tuple[Array, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[Array, ...]:
        return self._inner.all_gather(arrays, axis=axis, sizes=sizes)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        return self._inner.exchange(note, timeout_s=timeout_s)

    def put(self, value: np.ndarray | Array, device: Device) -> Array:
        return self._inner.put(value, device)

    def get(self, array: Array) -> np.ndarray:
        return self._inner.get(array)

    def cell(self, initial: Array) -> Cell:
        return self._inner.cell(initial)

    def spec(self, array: Array) -> Spec:
        return self._inner.spec(array)

    def on(self, device: Device) -> AbstractContextManager[None]:
        return self._inner.on(device)

    def synchronize(self) -> None:
        self._inner.synchronize()

    def close(self) -> None:
        self._inner.close()

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self._inner.prepare(function)

    def source(self, frame: FrameType) -> tuple[str, int]:
        return self._inner.source(frame)
