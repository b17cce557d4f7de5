"""Ragged and sparse batches of tf.data as `simstrategy.data.Rows`: their rows are dealt, and stay what they are.

Nothing is made dense, and nothing has a sum here: that is `composites.py`, which refuses it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import tensorflow as tf

from simstrategy.data import ElementSpec, Form, Rows

__all__ = ["COMPOSED", "KNOWN", "TensorFlowRows", "form_of", "spec_of"]

COMPOSED: Final = (tf.RaggedTensor, tf.SparseTensor)
KNOWN: Final = (tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec)
"""The forms of what elements may be made of."""


@final
class TensorFlowRows:
    """A tf.RaggedTensor or a tf.SparseTensor with the batch first."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def shape(self) -> tuple[int | None, ...]:
        if isinstance(self.value, tf.SparseTensor):
            return tuple(self.value.dense_shape.numpy().tolist())
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return self.value.dtype.as_numpy_dtype

    def __len__(self) -> int:
        value = self.value
        return int(value.dense_shape[0] if isinstance(value, tf.SparseTensor) else value.nrows())

    def __getitem__(self, rows: slice) -> "TensorFlowRows":
        start, stop, _ = rows.indices(len(self))
        if not isinstance(self.value, tf.SparseTensor):
            return TensorFlowRows(self.value[start:stop])
        sizes = self.shape[1:]
        return TensorFlowRows(tf.sparse.slice(self.value, [start, *[0] * len(sizes)], [stop - start, *sizes]))

    def joined(self, parts: Sequence[Any]) -> "TensorFlowRows":
        values = [part.value for part in parts]
        return TensorFlowRows(
            tf.sparse.concat(0, values) if isinstance(self.value, tf.SparseTensor) else tf.concat(values, 0)
        )

    def placed(self, placement: str) -> Any:
        if self.value.dtype == tf.string:
            return self.value
        with tf.device(placement):
            return tf.nest.map_structure(tf.identity, self.value, expand_composites=True)


@final
@dataclass(frozen=True, slots=True)
class Ragged:
    """A batch whose rows differ in size, along so many dimensions."""

    ragged_rank: int
    row_splits_dtype: str

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> TensorFlowRows:
        inner = [size or 0 for size in shape[self.ragged_rank + 1 :]]
        value = tf.zeros([0, *inner], tf.as_dtype(dtype))
        for _ in range(self.ragged_rank):
            value = tf.RaggedTensor.from_row_splits(value, tf.zeros([1], tf.as_dtype(self.row_splits_dtype)))
        return TensorFlowRows(value)


@final
@dataclass(frozen=True, slots=True)
class Sparse:
    """A batch of which only some values are kept, and their places."""

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> TensorFlowRows:
        sizes = [0, *(size or 0 for size in shape[1:])]
        none = tf.zeros([0], tf.as_dtype(dtype))
        return TensorFlowRows(tf.SparseTensor(tf.zeros([0, len(sizes)], tf.int64), none, sizes))


def form_of(spec: Any) -> ElementSpec:
    """Returns what TensorFlow says of an element's leaf as the room `data` says it."""
    form: Form | None = None
    if isinstance(spec, tf.SparseTensorSpec):
        form = Sparse()
    elif isinstance(spec, tf.RaggedTensorSpec) and spec.ragged_rank:
        form = Ragged(spec.ragged_rank, spec.row_splits_dtype.name)
    return ElementSpec(tuple(spec.shape), spec.dtype.name, form)


def spec_of(form: ElementSpec) -> Any:
    """Returns the same as TensorFlow says it."""
    dtype = tf.as_dtype(form.dtype)
    if isinstance(form.form, Sparse):
        return tf.SparseTensorSpec(form.shape, dtype)
    if isinstance(form.form, Ragged):
        return tf.RaggedTensorSpec(form.shape, dtype, form.form.ragged_rank, tf.as_dtype(form.form.row_splits_dtype))
    return tf.TensorSpec(form.shape, dtype)


if TYPE_CHECKING:
    _: Rows = TensorFlowRows(None)
