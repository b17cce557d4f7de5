"""Records the values that replicas contribute to reductions under MirroredStrategy, step by step.

A step is one `strategy.run`. Here are also the functions that change variables and data by one ulp. The causes of
differences are found in `simstrategy.check.causes`, from the facts of the steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final, NamedTuple, final

import numpy as np
import tensorflow as tf

from simstrategy.check.causes import PointFacts
from simstrategy.device.perturbed import perturb

__all__ = ["Observer", "Reduced", "Step", "facts_of", "first_not_finite", "nudged_dataset", "nudged_variables"]

Host = np.ndarray[Any, Any]
_BYTES_MAX: Final = 256 * 2**20
"""The most bytes that an observer keeps of one run; later values are not recorded."""

_ROW_BYTES_MAX: Final = 16 * 2**20
"""The largest step of which the examples are distinguished."""

_WIDE: Final = {"f": np.float64, "V": np.float64, "c": np.complex128}
"""The dtypes in which sums are computed again, by kind."""

_MOVABLE: Final = (tf.float16, tf.float32, tf.float64)


class Reduced(NamedTuple):
    """One reduction.  op: SUM or MEAN. site: file and line of the user's call. values: one array of each replica."""

    op: str
    site: str
    values: tuple[Host, ...]


@final
@dataclass(slots=True)
class Step:
    """One `strategy.run`.

    parts: the number of examples of each replica, or None if the arguments have no examples. rows: for each replica a
    text for each example, equal for equal ones; None where they were too large. reduced: in the order of the calls.
    """

    parts: tuple[int, ...] | None
    rows: tuple[tuple[str, ...], ...] | None = None
    reduced: list[Reduced] = field(default_factory=list)


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
                _on_host(self._step, list(parts))
                return
        _on_host(self._step, [])

    def sends(self, value: Any, op: str, site: str) -> None:
        """Records the terms of a SUM or MEAN at a line; value: a PerReplica, or the value of the only replica."""
        parts = value.values if isinstance(value, tf.distribute.DistributedValues) else (value,)
        if any(isinstance(part, tf.IndexedSlices) and part.dense_shape is None for part in parts):
            return

        def note(*values: Host) -> None:
            self._bytes += sum(value.nbytes for value in values)
            if self.steps and self._bytes <= _BYTES_MAX:
                self.steps[-1].reduced.append(Reduced(op, site, tuple(np.array(value) for value in values)))

        _on_host(note, [tf.convert_to_tensor(part) for part in parts])

    def _step(self, *parts: Host) -> None:
        # A tensor of unknown rank may be a scalar, which has no examples to count.
        if not parts or not all(part.ndim for part in parts):
            self.steps.append(Step(None))
            return
        self.steps.append(Step(tuple([len(part) for part in parts]), _rows(parts)))


def _rows(parts: Sequence[Host]) -> tuple[tuple[str, ...], ...] | None:
    """Returns a text for each example; None for texts, and for more than `_ROW_BYTES_MAX` bytes."""
    if sum(part.nbytes for part in parts) > _ROW_BYTES_MAX or any(part.dtype.kind not in "biuf" for part in parts):
        return None
    return tuple([tuple([blake2b(row.tobytes(), digest_size=8).hexdigest() for row in part]) for part in parts])


def facts_of(steps: Sequence[Step], names: Sequence[str]) -> list[PointFacts]:
    """Returns the facts of all reductions.

    names: of the values that a step reduces, if each is the gradient of a trainable variable.
    """
    found = []
    for number, step in enumerate(steps, 1):
        for place, one in enumerate(step.reduced):
            total = np.asarray(np.add.reduce([value.astype(_WIDE.get(value.dtype.kind)) for value in one.values]))
            combined = total / len(one.values) if one.op == "MEAN" else total
            dtype = one.values[0].dtype
            named = len(names) == len(step.reduced)
            subject = f"gradient of {names[place]}" if named else f"value {place + 1}"
            inputs = tuple([(value,) for value in one.values])
            outputs = (np.asarray(combined, dtype if dtype.kind in "fcV" or one.op == "SUM" else None),)
            found.append(
                PointFacts(number, one.site, "all_reduce", subject, one.op, inputs, outputs, step.parts, step.rows)
            )
    return found


def first_not_finite(steps: Sequence[Step]) -> str | None:
    """Returns a text about the first term of a reduction that is not finite, or None."""
    for number, step in enumerate(steps, 1):
        for place, one in enumerate(step.reduced, 1):
            for replica, value in enumerate(one.values):
                wrong = np.argwhere(~np.isfinite(value.astype(np.float64)))
                if len(wrong):
                    first = tuple(int(index) for index in wrong[0])
                    what = f"{value.dtype.name}{list(value.shape)} that entered sum {place}"
                    return f"step {number}, replica {replica}: {what} is {value[first]!s} at {list(first)}"
    return None


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
