"""Brings what happens under MirroredStrategy to a recorder of the core: steps, parts, reductions and writes.

A step is one `strategy.run`. In a traced function all of it is recorded at each call of the function. Here is also the
function that changes data by one ulp. The causes of differences are found in `simstrategy.check.causes`.
"""

from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final, Protocol, final
from zlib import crc32

import numpy as np
import tensorflow as tf

from simstrategy.device.narrow import perturb_as
from simstrategy.device.perturbed import moved_sums, perturb
from simstrategy.launch.calls import Form
from simstrategy.trace import Recorder, Recording, Request
from simstrategy_tf_distribute.forms import form_of
from simstrategy_tf_distribute.host_calls import HostCalls
from simstrategy_tf_distribute.lines import Lines, Site
from simstrategy_tf_distribute.narrow import Graphs
from simstrategy_tf_distribute.variables import MOVABLE

__all__ = ["Observer", "Sink", "Steps", "first_not_finite", "largest_of", "moved", "nudged_dataset"]

Host = np.ndarray[Any, Any]

_BYTES_MAX: Final = 256 * 2**20
"""The most bytes of reduced and written values that are recorded of one run; later values are not."""

_WIDE: Final = {"f": np.float64, "V": np.float64, "c": np.complex128}
"""The dtypes in which sums are computed again, by kind."""


class Sink(Protocol):
    """Receives what happens in a run, in order, with the values on the host."""

    def started(self, parts: Sequence[Host], site: Site, data: Site | None) -> None:
        """Receives the start of a step.

        parts: each replica's examples [rows, …]; () where none are known. data: their line.
        """

    def sent(self, kind: str, op: str, site: Site, subject: str | None, form: Form, values: Sequence[Host]) -> None:
        """Receives the replicas' values [any shape], which are combined.  form: that of the first one."""

    def wrote(self, replica: int, variable: str, operation: str, value: Host, site: Site) -> None:
        """Receives a write of one replica's component [any shape] of a variable."""


@final
class Steps:
    """Writes what happens in a run into a recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._rows = 0

    def started(self, parts: Sequence[Host], site: Site, data: Site | None) -> None:
        # A tensor of unknown rank may be a scalar, which has no examples to count.
        if parts and all(value.ndim for value in parts):
            self._rows = self.recorder.drew(0, 0, self._rows, [[value] for value in parts], data)
        self.recorder.record(0, Request("run", None, None, None, None, ()), (None,), (site,))

    def sent(self, kind: str, op: str, site: Site, subject: str | None, form: Form, values: Sequence[Host]) -> None:
        if any(value.shape != values[0].shape for value in values):
            return
        terms = [[np.array(value)] for value in values]
        depth = self.recorder.depth(0)
        request = Request(kind, op, None, subject, None, ((form[0] or (), form[1]),))
        ranks = range(len(terms)) if kind == "all_reduce" else (None,)
        self.recorder.begin(0, request, tuple(ranks), (site,) * len(ranks), terms)
        self.recorder.leave(0, depth, [[_combined(op, values)]] * len(terms))

    def wrote(self, replica: int, variable: str, operation: str, value: Host, site: Site) -> None:
        self.recorder.wrote(0, replica, variable, operation, (), (np.array(value),), site)


@final
class Observer:
    """Reports the steps of one run to a sink, in a traced function too, at each of its calls.

    lines: finds call sites.
    """

    def __init__(self, sink: Sink, lines: Lines) -> None:
        self._sink = sink
        self._lines = lines
        self._bytes = 0
        self._host = HostCalls()
        self.graphs = Graphs()
        """What is known of the graphs in which something is combined."""

    def starts(self, arguments: Sequence[Any], replicas: int, site: Site, data: Site | None) -> None:
        """Reports the start of a step, and the examples of each replica.

        arguments: of `strategy.run`. replicas: those of this process. data: the line that distributed the examples, if
        known.
        """
        parts = _examples(arguments, replicas)
        self._on_host(lambda *values: self._sink.started(values, site, data), parts)

    def sends(self, kind: str, value: Any, op: str, site: Site, subject: str | None) -> None:
        """Reports a SUM or MEAN with its terms; value: a PerReplica, or the value of the only replica."""
        self.graphs.look()
        parts = value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)
        if any(isinstance(part, tf.IndexedSlices) and part.dense_shape is None for part in parts):
            return
        tensors = [tf.convert_to_tensor(part) for part in parts]
        form = form_of(tensors[0])

        def note(*values: Host) -> None:
            self._bytes += sum(value.nbytes for value in values)
            if self._bytes <= _BYTES_MAX:
                self._sink.sent(kind, op, site, subject, form, values)

        self._on_host(note, tensors)

    def wrote(self, replica: int, variable: str, operation: str, component: Any, frame: FrameType) -> None:
        """Reports that a replica wrote its component of a variable alone."""
        site = self._lines.source(frame)

        def note(value: Host) -> None:
            self._bytes += value.nbytes
            if self._bytes <= _BYTES_MAX:
                self._sink.wrote(replica, variable, operation, value, site)

        self._on_host(note, [component.read_value()])

    def _on_host(self, note: Callable[..., None], tensors: Sequence[Any]) -> None:
        """Calls `note` with the values of tensors: now, or in each run of the graph that is being traced."""
        if tf.executing_eagerly():
            note(*[tensor.numpy() for tensor in tensors])
            return

        def noted(*values: Host) -> None:
            note(*values)

        self._host.add(noted, tensors, [])


def _examples(arguments: Sequence[Any], replicas: int) -> list[Any]:
    """Returns each replica's part of the first argument that has one for each; [] where there is none."""
    for leaf in tf.nest.flatten(arguments):
        parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,)
        if len(parts) == replicas and all(isinstance(part, tf.Tensor) and part.shape.rank != 0 for part in parts):
            return list(parts)
    return []


def _combined(op: str, values: Sequence[Host]) -> Host:
    total = np.asarray(np.add.reduce([value.astype(_WIDE.get(value.dtype.kind)) for value in values]))
    combined = total / len(values) if op == "MEAN" else total
    dtype = values[0].dtype
    return np.asarray(combined, dtype if dtype.kind in "fcV" or op == "SUM" else None)


def first_not_finite(recording: Recording) -> str | None:
    """Returns a text about the first term of a reduction that is not finite, or None."""
    place = step = 0
    for point in recording.points:
        place = place + 1 if point.step == step and point.inputs else int(bool(point.inputs))
        step = point.step
        for replica, row in enumerate(point.inputs):
            for value in row:
                if value.not_finite and value.array is not None:
                    wrong = np.argwhere(~np.isfinite(value.array.astype(np.float64)))
                    first = tuple(int(index) for index in wrong[0])
                    what = f"{value.dtype}{list(value.shape)} that entered sum {place}"
                    return f"step {step}, replica {replica}: {what} is {value.array[first]!s} at {list(first)}"
    return None


def moved(value: Any, pattern: int, *, beside: Any = None, narrow: str | None = None) -> Any:
    """Returns a tensor of floats [any shape] changed by one ulp, in a pattern; anything else as it is.

    beside: the size [] of the largest element that was added with the value, of which also what rounding leaves of
    terms that cancel moves, as by `device.perturbed.moved_sums`; None for a value that is no sum. narrow: a dtype of
    `device.narrow` by whose units it moves, in a pattern that depends on it as well; None for its own.
    """
    if not isinstance(value, tf.Tensor) or value.dtype not in MOVABLE:
        return value

    def of_sum(host: Host, of_all: Host) -> Host:
        return _perturbed(moved_sums(host, pattern, beside=float(of_all)), pattern, narrow, is_moved=True)

    if beside is None:
        result = tf.numpy_function(lambda host: _perturbed(host, pattern, narrow), [value], value.dtype)
    else:
        result = tf.numpy_function(of_sum, [value, beside], value.dtype)
    result.set_shape(value.shape)
    return result


def _perturbed(host: Host, pattern: int, narrow: str | None, *, is_moved: bool = False) -> Host:
    """Returns an array [any shape] as it moves.  is_moved: whether it has by its own units."""
    if narrow is None or host.dtype.name not in ("float32", "float64"):
        return host if is_moved else perturb(host, pattern)
    return perturb_as(host, pattern + crc32(host.tobytes()), narrow)


def largest_of(values: Sequence[Any]) -> Any:
    """Returns the size [] of the largest finite element of tensors [any shape] of float32 or float64, as float64."""
    found = [tf.zeros((), tf.float64)]
    for value in values:
        if isinstance(value, tf.Tensor) and value.dtype in (tf.float32, tf.float64):
            sizes = tf.where(tf.math.is_finite(value), tf.abs(value), tf.zeros_like(value))
            found.append(tf.cast(tf.reduce_max(sizes), tf.float64))
    return tf.reduce_max(tf.stack(found))


def nudged_dataset(dataset: Any, pattern: int, narrow: str | None = None) -> Any:
    """Returns a dataset whose floats are changed by one ulp, in this pattern.  narrow: as of `moved`.

    Zeros and ones, as of labels and masks, stay beside other floats: programs ask whether they are equal to them.
    """

    def move(*element: Any) -> Any:
        floats = [one for one in tf.nest.flatten(element) if isinstance(one, tf.Tensor) and one.dtype in MOVABLE]
        has_others = tf.logical_not(tf.reduce_all([_are_flags(one) for one in floats]))

        def move_one(one: Any) -> Any:
            new = moved(one, pattern, narrow=narrow)
            return new if new is one else tf.where(tf.logical_and(has_others, _are_flags(one)), one, new)

        new = tf.nest.map_structure(move_one, element)
        return new if len(element) > 1 else new[0]

    return dataset.map(move)


def _are_flags(value: Any) -> Any:
    """Returns whether a tensor of floats [any shape] has zeros, ones and minus ones alone, as a bool []."""
    sizes = tf.abs(value)
    return tf.reduce_all(tf.logical_or(tf.equal(sizes, 0), tf.equal(sizes, 1)))
