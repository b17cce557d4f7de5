"""Ragged and sparse batches of tf.data as `simstrategy.data.CompositeBatch`: their rows are split.

No batch is made dense here. Sums of such values are in `composites.py`, which refuses them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import tensorflow as tf

from simstrategy.data import CompositeBatch, CompositeSpec, ElementSpec

__all__ = ["COMPOSED", "KNOWN", "TensorFlowCompositeBatch", "form_of", "spec_of"]

COMPOSED: Final = (tf.RaggedTensor, tf.SparseTensor)
KNOWN: Final = (tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec)
"""The specs of all types of leaves that elements may have."""


@final
class TensorFlowCompositeBatch:
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

    def __getitem__(self, rows: slice) -> "TensorFlowCompositeBatch":
        start, stop, _ = rows.indices(len(self))
        if not isinstance(self.value, tf.SparseTensor):
            return TensorFlowCompositeBatch(self.value[start:stop])
        sizes = self.shape[1:]
        return TensorFlowCompositeBatch(tf.sparse.slice(self.value, [start, *[0] * len(sizes)], [stop - start, *sizes]))

    def joined(self, parts: Sequence[Any]) -> "TensorFlowCompositeBatch":
        values = [part.value for part in parts]
        return TensorFlowCompositeBatch(
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
    """A batch whose rows differ in size.  ragged_rank: the number of dimensions along which they differ."""

    ragged_rank: int
    row_splits_dtype: str

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> TensorFlowCompositeBatch:
        inner = [size or 0 for size in shape[self.ragged_rank + 1 :]]
        value = tf.zeros([0, *inner], tf.as_dtype(dtype))
        for _ in range(self.ragged_rank):
            value = tf.RaggedTensor.from_row_splits(value, tf.zeros([1], tf.as_dtype(self.row_splits_dtype)))
        return TensorFlowCompositeBatch(value)


@final
@dataclass(frozen=True, slots=True)
class Sparse:
    """A batch of which only some values are stored, with their indices."""

    def empty(self, shape: tuple[int | None, ...], dtype: str) -> TensorFlowCompositeBatch:
        sizes = [0, *(size or 0 for size in shape[1:])]
        none = tf.zeros([0], tf.as_dtype(dtype))
        return TensorFlowCompositeBatch(tf.SparseTensor(tf.zeros([0, len(sizes)], tf.int64), none, sizes))


def form_of(spec: Any) -> ElementSpec:
    """Converts TensorFlow's spec of a leaf to an `ElementSpec`."""
    composite: CompositeSpec | None = None
    if isinstance(spec, tf.SparseTensorSpec):
        composite = Sparse()
    elif isinstance(spec, tf.RaggedTensorSpec) and spec.ragged_rank:
        composite = Ragged(spec.ragged_rank, spec.row_splits_dtype.name)
    return ElementSpec(tuple(spec.shape), spec.dtype.name, composite)


def spec_of(form: ElementSpec) -> Any:
    """Converts an `ElementSpec` to TensorFlow's spec."""
    dtype = tf.as_dtype(form.dtype)
    if isinstance(form.composite, Sparse):
        return tf.SparseTensorSpec(form.shape, dtype)
    if isinstance(form.composite, Ragged):
        return tf.RaggedTensorSpec(
            form.shape, dtype, form.composite.ragged_rank, tf.as_dtype(form.composite.row_splits_dtype)
        )
    return tf.TensorSpec(form.shape, dtype)


if TYPE_CHECKING:
    _: CompositeBatch = TensorFlowCompositeBatch(None)
