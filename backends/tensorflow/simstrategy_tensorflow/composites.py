"""TensorFlow's values that consist of several tensors: IndexedSlices have a sum, ragged and sparse tensors have none.

Sparse and ragged tensors are arguments and results of `run` without a change. Source: TensorFlow 2.21.0, as measured.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, final

import tensorflow as tf

from simstrategy.device import Composites
from simstrategy.errors import Unsupported

__all__ = ["TensorFlowComposites"]


@final
class TensorFlowComposites:
    """See `simstrategy.device.Composites`: IndexedSlices have values and indices, which are concatenated."""

    __slots__ = ()
    types = (tf.IndexedSlices, tf.SparseTensor, tf.RaggedTensor)

    def parts(self, value: Any, call: str) -> tuple[tf.Tensor, ...]:
        if not isinstance(value, tf.IndexedSlices):
            _refuse(value, call)
        return value.values, value.indices

    def joined(self, value: Any, parts: Sequence[tf.Tensor]) -> Any:
        values, indices = parts
        return tf.IndexedSlices(values, indices, value.dense_shape)

    def dense(self, value: Any) -> tf.Tensor:
        if not isinstance(value, tf.IndexedSlices):
            _refuse(value, "a collective, a reduction or a variable")
        return tf.convert_to_tensor(value)


def _refuse(value: Any, call: str) -> NoReturn:
    way = "tf.sparse.to_dense(x)" if isinstance(value, tf.SparseTensor) else "x.to_tensor()"
    raise Unsupported(
        f"A {type(value).__name__} was given to {call}, and has no sum over replicas. Make it dense first, {way}, or "
        f"give its parts."
    )


if TYPE_CHECKING:
    _: Composites = TensorFlowComposites()
