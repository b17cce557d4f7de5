"""Shapes and dtypes of TensorFlow's values, as messages and comparisons of requests need them."""

from typing import Any

import tensorflow as tf

from simstrategy.launch.calls import Form

__all__ = ["form_of"]


def form_of(value: Any) -> Form:
    """Returns shape and dtype; the number of rows of slices may differ between replicas, so it is None."""
    if isinstance(value, tf.IndexedSlices):
        return (None, *tuple(value.values.shape)[1:]), f"slices of {value.dtype.name}"
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        value = tf.convert_to_tensor(value)
    shape = value.shape
    return None if shape.rank is None else tuple(shape), value.dtype.name
