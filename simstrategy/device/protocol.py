"""The device layer: the calls that a backend provides.

A backend is one group of devices, rank r being `devices[r]`. Its collectives are *group-calls*: they take the arrays of
all local ranks at once, in rank order, and return theirs. Matching of calls and the search for disagreement are in the
core, once for every backend. A process of a cluster holds the ranks in `local_devices`; the core makes one `exchange`
before every group-call.

Arrays are opaque to the core. MEAN is not here: the core sums and divides once. A backend need not inherit from
anything below. Read `terms.py` as well; the optional parts are None in a backend that lacks them.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, Protocol

import numpy as np

from simstrategy.device.compilation import Facts
from simstrategy.device.frontend import Composites, Frontend
from simstrategy.device.namespace import ArrayNamespace
from simstrategy.device.optional import Autodiff, Forms, UnifiedMemory
from simstrategy.device.terms import A, ArraySpec, Capabilities, Cell, Device, Op, Spec
from simstrategy.values import Parts

__all__ = ["PROTOCOL_VERSION", "Backend", "Compilation", "Program", "ProgramBody", "is_backend", "missing_part"]

PROTOCOL_VERSION = 1
"""Changes with every release that a backend written for the one before would not conform to; 1 until there is one."""


class Backend(Protocol[A]):
    """One group of devices and its calls.  All results are on the devices of their ranks.

    [n] below is the number of local ranks. Every call may raise the framework's own errors for a lack of memory.
    """

    # Read-only, so that a backend may have plain or constant attributes.
    @property
    def name(self) -> str: ...
    @property
    def protocol_version(self) -> int: ...
    @property
    def capabilities(self) -> Capabilities: ...
    @property
    def devices(self) -> tuple[Device, ...]:
        """All ranks of the group, in rank order, over all processes."""
        ...

    @property
    def local_devices(self) -> tuple[Device, ...]:
        """The ranks of this process, in rank order."""
        ...

    @property
    def array_types(self) -> tuple[type[A], ...]:
        """The types of this backend's arrays, for `isinstance`: every other value is host data."""
        ...

    @property
    def xp(self) -> ArrayNamespace:
        """The array namespace; it computes where its arguments are, and creates on the device of `on`."""
        ...

    # The optional parts.

    @property
    def autodiff(self) -> Autodiff[A] | None: ...
    @property
    def memory(self) -> UnifiedMemory[A] | None: ...
    @property
    def forms(self) -> Forms[A] | None: ...
    @property
    def compilation(self) -> "Compilation[A] | None": ...
    @property
    def frontend(self) -> Frontend | None: ...
    @property
    def composites(self) -> Composites | None: ...

    def on(self, device: Device) -> AbstractContextManager[None]:
        """Returns a context manager: arrays created inside are on `device`.

        Called in the thread that calls `Strategy.run`, entered in the task's: what the framework keeps per thread (a
        graph being traced, a gradient mode) can be read here and restored there.
        """
        ...

    def synchronize(self) -> None:
        """Returns when all work that was started is done."""
        ...

    def close(self) -> None:
        """Ends every thread, process and connection of the backend and deletes its files.  May be called twice."""
        ...

    def put(self, value: np.ndarray | A, device: Device) -> A:
        """Returns host data, or an array of another local device, on `device`.

        value: [any shape]; shape and dtype stay. Host data is copied: writing to it later changes no array. Raises
        InvalidArgument for a dtype outside `capabilities.dtypes`. The caller gives an array, and nothing else.
        """
        ...

    def get(self, array: A) -> np.ndarray:
        """Returns a new host copy of an array […], with the same shape and dtype.

        Raises InvalidType or Unsupported for an array without a value, while a framework traces.
        """
        ...

    def spec(self, array: A) -> Spec:
        """Returns (shape, dtype, placement) of an array […], see `ArraySpec`."""
        ...

    def cell(self, initial: A) -> Cell[A]:
        """Returns storage on the device of `initial` […], of its shape and dtype; the two share no memory."""
        ...

    # Group-calls.  They raise PeerFailed where another process has failed or its connection has ended.

    def all_reduce(self, arrays: tuple[A, ...], op: Op) -> tuple[A, ...]:
        """Combines arrays of all ranks elementwise.

        arrays: [n] arrays of equal shape and dtype, bool excepted; integers wrap. Returns [n] arrays of that shape and
        dtype.
        """
        ...

    def reduce(self, arrays: tuple[A, ...], op: Op, *, root: int) -> A | None:
        """Returns the result of `all_reduce` of [n] arrays for rank `root` alone: None where root is not local."""
        ...

    def broadcast(self, array: A | None, *, spec: ArraySpec, root: int) -> tuple[A, ...]:
        """Sends rank `root`'s array to all ranks.

        array: rank root's, [spec.shape] of spec.dtype; None where root is not local. Returns [n] arrays of that form.
        """
        ...

    def all_gather(self, arrays: tuple[A, ...], *, axis: int, sizes: tuple[int, ...]) -> tuple[A, ...]:
        """Concatenates the arrays of all ranks along `axis`, in rank order.

        arrays: [n] arrays of one dtype, whose shapes differ along the axis alone. axis: from 0. sizes: every rank's
        size along the axis, UNKNOWN where it is not known before a graph runs. Returns [n] equal arrays.
        """
        ...

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Sends one small message to every process; returns all processes' messages, in process order.

        timeout_s: in seconds; None for the backend's own limit. Raises PeerFailed where a process has failed, has
        left, or does not reply in time.
        """
        ...

    # How the framework treats Python.

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the replica function in the form that the framework calls; most backends return it unchanged."""
        ...

    def source(self, frame: FrameType) -> tuple[str, int]:
        """Returns the user's file and line for a frame, also of code that the framework generated."""
        ...


class ProgramBody(Protocol[A]):
    """A step as it is traced: takes a view of the group, the rank, and the rank's inputs; returns its outputs."""

    def __call__(self, backend: Backend[A], rank: A, inputs: tuple[A, ...], /) -> tuple[A, ...]: ...


class Program(Protocol[A]):
    """A compiled step."""

    def __call__(
        self,
        inputs: Sequence[tuple[A, ...] | Parts],
        read: Sequence[tuple[Cell[A], ...]],
        written: Sequence[tuple[Cell[A], ...]],
        /,
    ) -> Sequence[tuple[A, ...] | Parts]:
        """Runs on all local ranks.

        inputs: every input's [n] arrays, in rank order, or parts that this backend returned. read: [n] cells each,
        whose values are the inputs after them. written: [n] cells each, which receive the first outputs. Returns the
        other outputs' [n] arrays, or parts that make them when they are read.
        """
        ...


class Compilation(Protocol[A]):
    """Makes one program for all ranks of a step whose inputs have equal forms everywhere: `Backend.compilation`.

    `body` is called once while it is traced, with a backend of one local device that stands for every rank, and whose
    group-calls become part of the program; the rank is an array without a value. forms: shape and dtype of each input.
    """

    def trace(self, body: ProgramBody[A], forms: Sequence[tuple[tuple[int, ...], str]]) -> None:
        """Calls `body` once, and makes nothing.  Raises CannotCompile where it needs a value."""
        ...

    @property
    def examined(self) -> Sequence[Facts] | None:
        """What the compiler reported of the programs made so far, in order; None from a backend that does not ask."""
        ...

    def compile(self, body: ProgramBody[A], forms: Sequence[tuple[tuple[int, ...], str]]) -> Program[A]:
        """Returns the program.  Raises CannotCompile."""
        ...


def is_backend(value: Any) -> bool:
    """Returns whether a value has the version number that every backend has."""
    try:
        return isinstance(value.protocol_version, int)
    except AttributeError:
        return False


def missing_part(backend: Backend) -> str | None:
    """Returns the name of the first attribute of `Backend` that a backend lacks, or None.

    An optional part that a backend does not have is an attribute too: None.
    """
    try:
        _ = backend.name, backend.capabilities, backend.devices, backend.local_devices, backend.array_types, backend.xp
        _ = backend.autodiff, backend.memory, backend.forms, backend.compilation, backend.frontend, backend.composites
    except AttributeError as error:
        if error.obj is not backend:
            raise  # of the code behind an attribute that exists
        return error.name
    return None
