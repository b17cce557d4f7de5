"""One rank's view of the group while a step is recorded: a `Backend` of a single local device that stands for all.

Its group-calls go to the tape, and nothing in it has a value. To the core it is a process group with one local replica.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, cast, final

import numpy as np

from simstrategy.device import NAMES, PROTOCOL_VERSION, ArrayNamespace, ArraySpec, Backend, Capabilities, Device, Op
from simstrategy.errors import CannotCompile
from simstrategy.sim.arrays import Host
from simstrategy.sim.dtypes import dtype_names
from simstrategy.sim.namespace import SimNamespace
from simstrategy.sim.stacked.sums import combined, gathered
from simstrategy.sim.stacked.tape import Tape, recorded_in
from simstrategy.sim.stacked.traced import TracedArray

__all__ = ["StackedBackend"]

_PLACEMENT: Final = "every rank"
_OF_FORM: Final = ("zeros_like", "ones_like")
"""Functions whose results depend on the form of their argument alone."""

_ARRAYS_BY_NAME: Final = ("min", "max", "prepend", "append", "sorter", "fill_value", "indices")
"""Arguments that may be arrays where they are given by name."""
_ARRAYS_MAX: Final = {
    **dict.fromkeys(("zeros", "ones", "arange", "linspace", "eye"), 0),
    **dict.fromkeys(("reshape", "broadcast_to", "tile", "squeeze", "permute_dims", "moveaxis", "roll", "repeat"), 1),
}
"""How many of the first arguments may be arrays, where not all may."""

Arrays = tuple[TracedArray, ...]


def _namespace(tape: Tape, xp: SimNamespace) -> ArrayNamespace:
    """Returns the array functions, which record what they are called with."""

    def asarray(*given: Any, **settings: Any) -> Any:
        if len(given) == 1 and not settings and isinstance(given[0], TracedArray):
            return given[0]
        return tape.call("asarray", xp.asarray, *given, **settings)

    def recording(name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(xp, name)
        most = _ARRAYS_MAX.get(name)

        def call(*given: Any, **settings: Any) -> Any:
            plain = [one for key, one in settings.items() if key not in _ARRAYS_BY_NAME]
            if recorded_in(plain) or (most is not None and recorded_in(given[most:])):
                raise CannotCompile(
                    f"A compiled step calls xp.{name} with an array where a size, an axis or another setting stands, "
                    f"which has no value before the program runs. Pass a number, or run the step without compiling it."
                )
            return tape.call(name, function, *given, **settings)

        return call

    def of_form(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **settings: Any) -> Any:
            likes = [_example(one) for one in given]
            return tape.constant(np.array(function(*likes, **{key: _example(one) for key, one in settings.items()})))

        return call

    def full(*given: Any, **settings: Any) -> Any:
        shape = given[0] if given else settings.get("shape")
        if recorded_in(shape):
            return recording("zeros")(shape)
        return tape.call("full", xp.full, *given, **settings)

    functions: dict[str, Any] = {name: recording(name) for name in NAMES}
    functions |= {name: of_form(getattr(xp, name)) for name in _OF_FORM}
    return cast("ArrayNamespace", SimpleNamespace(**functions | {"asarray": asarray, "full": full}))


def _example(given: Any) -> Any:
    return given.example if isinstance(given, TracedArray) else given


@final
class StackedBackend:
    """The group of `count` ranks as each of them sees it.  order: of additions, by name."""

    name = "sim"
    protocol_version = PROTOCOL_VERSION
    array_types = (TracedArray,)
    autodiff = None
    composites = None
    memory = None
    forms = None
    frontend = None
    compilation = None
    source: Final = staticmethod(attrgetter("f_code.co_filename", "f_lineno"))

    def __init__(self, count: int, capabilities: Capabilities, tape: Tape, xp: SimNamespace, order: str) -> None:
        self.capabilities = capabilities
        # As of several processes: a rank receives the others' notes, and all notes are equal.
        self.devices = tuple([Device(rank, rank, _PLACEMENT) for rank in range(count)])
        self.local_devices = self.devices[:1]
        self.xp = _namespace(tape, xp)
        self._tape = tape
        self._order = order

    def on(self, device: Device) -> AbstractContextManager[None]:
        return nullcontext()

    def synchronize(self) -> None:
        """Does nothing: nothing runs while a step is recorded."""

    def close(self) -> None:
        """Does nothing: it holds nothing."""

    def put(self, value: Host | TracedArray, device: Device) -> TracedArray:
        array: Any = self.xp.asarray(value)
        return cast("TracedArray", array)

    def get(self, array: TracedArray) -> Host:
        raise CannotCompile(
            f"A compiled step asked for the value of {array.dtype}{list(array.shape)}, which is known only when the "
            f"program runs. Return it from the step, and read it there."
        )

    def spec(self, array: TracedArray) -> ArraySpec:
        return ArraySpec(array.shape, dtype_names[array.dtype], _PLACEMENT)

    def cell(self, initial: TracedArray) -> "TracedCell":
        return TracedCell(initial)

    def all_reduce(self, arrays: Arrays, op: Op) -> Arrays:
        (array,) = arrays
        return (self._tape.together(combined, array, array.example, op=op, order=self._order),)

    def reduce(self, arrays: Arrays, op: Op, *, root: int) -> TracedArray:
        return self.all_reduce(arrays, op)[0]

    def broadcast(self, array: TracedArray | None, *, spec: ArraySpec, root: int) -> Arrays:
        assert array is not None  # one device stands for every rank, so the root is local
        return (self._tape.together(_row, array, array.example, root=root),)

    def all_gather(self, arrays: Arrays, *, axis: int, sizes: tuple[int, ...]) -> Arrays:
        (array,) = arrays
        shape = list(array.shape)
        shape[axis] *= len(self.devices)
        example = np.zeros(shape, array.dtype).view(type(array.example))
        return (self._tape.together(gathered, array, example, axis=axis),)

    def exchange(self, note: bytes, *, timeout_s: float | None) -> tuple[bytes, ...]:
        """Returns the note as every rank's: all run the same program."""
        return (note,) * len(self.devices)

    def prepare(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return function


def _row(rows: Host, root: int) -> Host:
    row: Host = rows[root, ...]
    return row


@final
class TracedCell:
    """A variable's component while a step is recorded: the last value that was written."""

    __slots__ = ("native",)

    def __init__(self, initial: TracedArray) -> None:
        self.native = initial

    def read(self) -> TracedArray:
        return self.native

    def write(self, value: TracedArray) -> None:
        self.native = value


if TYPE_CHECKING:
    _: Callable[..., Backend[TracedArray]] = StackedBackend
