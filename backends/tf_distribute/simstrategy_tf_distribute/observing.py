"""Records the values that replicas contribute to reductions under MirroredStrategy, step by step.

A step is one `strategy.run`. Here are also the functions that change variables and data by one ulp. The causes of
differences are found in `causes.py`.
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
"""The most bytes that an observer keeps of one run; later values are not recorded."""

_MOVABLE: Final = (tf.float16, tf.float32, tf.float64)


@final
@dataclass(slots=True)
class Step:
    """One `strategy.run`.

    parts: the number of examples of each replica, or None if the arguments have no examples. reduced: for each value
    that was summed over the replicas, one array per replica.
    """

    parts: tuple[int, ...] | None
    reduced: list[tuple[Host, ...]] = field(default_factory=list)


@final
class Observer:
    """Collects steps while a program runs; in a traced function too, at each of its calls."""

    __slots__ = ("_bytes", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._bytes = 0

    def starts(self, arguments: Sequence[Any]) -> None:
        """Records the start of a step and the number of examples of each replica.  arguments: of `strategy.run`."""
        for leaf in tf.nest.flatten(arguments):
            parts = leaf.values if isinstance(leaf, tf.distribute.DistributedValues) else (leaf,)
            if all(isinstance(part, tf.Tensor) and part.shape.rank != 0 for part in parts):
                # A tensor of unknown rank may be a scalar, which has no examples to count.
                _on_host(self._step, [tf.reshape(tf.shape(part), [-1])[:1] for part in parts])
                return
        _on_host(self._step, [])

    def sends(self, value: Any, *, mean: bool) -> None:
        """Records the terms of a sum or of a mean; value: a PerReplica, or the value of the only replica."""
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
    """Calls `note` with the values of tensors: now, or in each run of the graph that is being traced."""
    if tf.executing_eagerly():
        note(*[tensor.numpy() for tensor in tensors])
        return

    def noted(*values: Host) -> None:
        note(*values)

    tf.numpy_function(noted, tensors, [])


def nudged_variables(pattern: int) -> Any:
    """Returns a context in which the initial values of new variables are changed by one ulp, in this pattern."""

    def create(next_creator: Callable[..., Any], **settings: Any) -> Any:
        initial = settings["initial_value"]
        # The components of other replicas copy the first one, which is changed already.
        if "/replica_" not in (settings.get("name") or ""):
            value = tf.convert_to_tensor(initial() if callable(initial) else initial, settings.get("dtype"))
            if tf.executing_eagerly() and value.dtype in _MOVABLE:
                settings = {**settings, "initial_value": tf.constant(perturb(value.numpy(), pattern))}
        return next_creator(**settings)

    return tf.variable_creator_scope(create)


def nudged_dataset(dataset: Any, pattern: int) -> Any:
    """Returns a dataset whose floats are changed by one ulp, in this pattern."""

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
