"""What a backend and the core exchange: devices, arrays and their specs, cells, capabilities.

The calls are in `protocol.py`, the optional parts in `optional.py` and `frontend.py`.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

__all__ = ["UNKNOWN", "Array", "ArraySpec", "Capabilities", "Cell", "Device", "Op", "Spec"]

Array = Any
"""An array of the backend's own type, on one device.  Opaque to the core, which computes with `xp` alone."""

UNKNOWN = -1
"""The size of an axis that is not known before a graph runs, while a framework traces."""

Op = Literal["SUM", "MIN", "MAX"]

Spec = tuple[tuple[int, ...], str, str]
"""An `ArraySpec`, or a plain tuple of the same fields, which is quicker to make: every collective needs several."""


class Device(NamedTuple):
    """One rank of the group."""

    rank: int
    """0 to number of ranks - 1, over all processes."""
    process: int
    """The worker that holds the rank: 0 for a backend of one process."""
    placement: str
    """The framework's name of the device; several ranks may share one."""


class ArraySpec(NamedTuple):
    """The description of an array without its values."""

    shape: tuple[int, ...]
    dtype: str
    """The Array API name: float32, int64, bool, complex64 … and bfloat16."""
    placement: str
    """The `placement` of the device that holds it."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What differs between backends and the core depends on."""

    dtypes: frozenset[str]
    """The dtypes that `put`, `xp` and SUM accept, bool included where `put` accepts it."""
    executor: Literal["greenlet", "thread"]
    """How replicas may be run: `thread` where the framework keeps tapes, graphs or scopes per thread."""
    reproducible_bits: bool
    """The same call on the same arrays always gives the same bits."""
    mutable_arrays: bool
    """A program can write into an array, so no two results may share memory."""
    spans_processes: bool = False
    """A group may have several processes: each opens the backend for itself and connects to the others."""


class Cell(Protocol):
    """The storage of one variable on one device.  Its dtype and shape never change."""

    @property
    def native(self) -> Any:
        """The framework's variable, which its tapes and optimizers take."""
        ...

    def read(self) -> Array:
        """Returns the value, [shape of the cell]; a later write does not change what was read."""
        ...

    def write(self, value: Array) -> None:
        """Replaces the value.  value: [shape of the cell], of its dtype, on its device."""
        ...
