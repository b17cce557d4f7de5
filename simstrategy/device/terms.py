"""What a backend and the core exchange: devices, arrays and their specs, cells, capabilities.

The calls are in `protocol.py`, the optional parts in `optional.py` and `frontend.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np

from simstrategy.device.generators import GlobalGenerator

if TYPE_CHECKING:
    from typing_extensions import TypeVar
else:
    from typing import TypeVar

__all__ = [
    "UNKNOWN",
    "A",
    "Array",
    "ArraySpec",
    "Capabilities",
    "Cell",
    "Device",
    "HostData",
    "Number",
    "Op",
    "Operand",
    "Real",
    "Spec",
    "process_count",
]


class Array(Protocol):
    """An array of the backend's own type, on one device.  Opaque to the core, which computes with `xp` alone."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __getitem__(self, key: Any, /) -> Any: ...


if TYPE_CHECKING:
    A = TypeVar("A", default=Array)
else:
    A = TypeVar("A")  # typing has no defaults before Python 3.13
"""The type of a backend's arrays.  `Backend` alone is `Backend[Array]`; an author's class is `Backend[ItsArray]`."""

Real: TypeAlias = float | np.integer[Any] | np.floating[Any] | np.bool
"""A real number of Python or NumPy; `float` includes bool and int."""

Number: TypeAlias = Real | complex | np.complexfloating[Any, Any]
"""A number of Python or NumPy."""

HostData: TypeAlias = np.ndarray[Any, Any] | Number | Sequence["HostData"]
"""What a backend adopts as an array: NumPy arrays, numbers, and nested lists of them."""

Operand: TypeAlias = Array | HostData
"""What the functions of a namespace compute with."""

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


_PROCESS: Final = attrgetter("process")


def process_count(devices: Sequence[Device]) -> int:
    """Returns the number of processes that have these devices."""
    return len(set(map(_PROCESS, devices)))


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
    generators: tuple[GlobalGenerator, ...] = ()
    """The framework's global random generators that are not among `GLOBAL_GENERATORS`: see `Settings.isolate`."""
    combines_on_one: bool = False
    """`all_reduce` combines on one device and copies from there, in one process: a mean is divided before the copies.

    For speed alone; the results are the same."""


class Cell(Protocol[A]):
    """The storage of one variable on one device.  Its dtype and shape never change."""

    @property
    def native(self) -> Any:
        """The framework's variable, which its tapes and optimizers take."""
        ...

    def read(self) -> A:
        """Returns the value, [shape of the cell]; a later write does not change what was read."""
        ...

    def write(self, value: A) -> None:
        """Replaces the value.  value: [shape of the cell], of its dtype, on its device."""
        ...
