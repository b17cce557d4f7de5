"""What a program sends under the real MirroredStrategy, step by step, on the host: an `Observer` beside a strategy.

It judges nothing: causes are found in `causes.py`. Steps are what `strategy.run` runs. What moves a program's variables
and data by one unit in the last place is here too, and is the only thing that changes a value.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
import tensorflow as tf

from simstrategy.device.perturbed import perturb

__all__ = ["Observer", "Step", "nudged_dataset", "nudged_variables"]

Host = np.ndarray[Any, Any]
_BYTES_MAX: Final = 256 * 2**20
"""What an observer keeps of one run; later steps are not looked at."""

_MOVABLE: Final = (tf.float16, tf.float32, tf.float64)


@final
@dataclass(slots=True)
class Step:
    """One `strategy.run`.  parts: how many examples each replica got, if its arguments have any.

    reduced: for each value that was summed over the replicas, what each of them sent: one array per replica.
    """

    parts: tuple[int, ...] | None
    reduced: list[tuple[Host, ...]] = field(default_factory=list)


@final
class Observer:
    """Collects steps while a program runs; works in a traced function too, at each of its calls."""

    __slots__ = ("_bytes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._bytes = 0

    def starts(self, arguments: Sequence[Any]) -> None:
        """Notes that a step starts, and with how many examples on each replica.  arguments: of `strategy.run`."""
        for leaf in tf.nest.flatten(arguments):
            parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,)
            if all(isinstance(part, tf.Tensor) and part.shape.rank != 0 for part in parts):
                # A tensor of unknown rank may turn out to be a scalar, which has no examples to count.
                _on_host(self._step, [tf.reshape(tf.shape(part), [-1])[:1] for part in parts])
                return
        _on_host(self._step, [])

    def sends(self, value: Any, *, mean: bool) -> None:
        """Notes each replica's share of a sum, or of a mean; `value` is a PerReplica, or the only replica's own."""
        parts = value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)
        if any(isinstance(part, tf.IndexedSlices) and part.dense_shape is None for part in parts):
            return
        _on_host(self._share if mean else self._send, [tf.convert_to_tensor(part) for part in parts])

    def _step(self, *sizes: Host) -> None:
        self.steps.append(Step(tuple(int(size[0]) for size in sizes) if all(map(len, sizes)) and sizes else None))

    def _share(self, *values: Host) -> None:
        self._send(*[value / value.dtype.type(len(values)) for value in values])

    def _send(self, *values: Host) -> None:
        self._bytes += sum(value.nbytes for value in values)
        if self.steps and self._bytes <= _BYTES_MAX:
            self.steps[-1].reduced.append(tuple(np.array(value) for value in values))


def _on_host(note: Callable[..., None], tensors: Sequence[Any]) -> None:
    """Calls `note` with values: now, or whenever the graph that is being traced comes here."""
    if tf.executing_eagerly():
        note(*[tensor.numpy() for tensor in tensors])
        return

    def noted(*values: Host) -> None:
        note(*values)

    tf.numpy_function(noted, tensors, [])


def nudged_variables(pattern: int) -> Any:
    """Returns a context in which variables begin one unit in the last place off, as `pattern` says; copies alike."""

    def create(next_creator: Callable[..., Any], **settings: Any) -> Any:
        given = settings["initial_value"]
        # Other replicas' components copy the first one's, which has moved already.
        if "/replica_" not in (settings.get("name") or ""):
            value = tf.convert_to_tensor(given() if callable(given) else given, settings.get("dtype"))
            if tf.executing_eagerly() and value.dtype in _MOVABLE:
                settings = {**settings, "initial_value": tf.constant(perturb(value.numpy(), pattern))}
        return next_creator(**settings)

    return tf.variable_creator_scope(create)


def nudged_dataset(dataset: Any, pattern: int) -> Any:
    """Returns a dataset whose numbers are one unit in the last place off, as `pattern` says."""

    def moved(value: Any) -> Any:
        if not isinstance(value, tf.Tensor) or value.dtype not in _MOVABLE:
            return value
        result = tf.numpy_function(lambda host: perturb(host, pattern), [value], value.dtype)
        result.set_shape(value.shape)
        return result

    def move(*element: Any) -> Any:
        new = tf.nest.map_structure(moved, element)
        return new if len(element) > 1 else new[0]

    return dataset.map(move)
