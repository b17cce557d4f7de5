"""Shapes and dtypes of TensorFlow's values, as messages and comparisons of requests need them."""

from typing import Any, TypeAlias

import tensorflow as tf

__all__ = ["Form", "form_of", "written"]

Form: TypeAlias = tuple[tuple[int | None, ...] | None, str]
"""Shape and dtype; a size is None where it may differ, and a shape where its rank is not known."""


def form_of(value: Any) -> Form:
    """Returns shape and dtype; the number of rows of slices may differ between replicas, so it is None."""
    if isinstance(value, tf.IndexedSlices):
        return (None, *tuple(value.values.shape)[1:]), f"slices of {value.dtype.name}"
    if not isinstance(value, (tf.Tensor, tf.Variable)):
        value = tf.convert_to_tensor(value)
    shape = value.shape
    return None if shape.rank is None else tuple(shape), value.dtype.name


def written(form: Form) -> str:
    """Returns a form as text.

    >>> written(((2, None), "float32")), written((None, "int64"))
    ('float32[2,?]', 'int64[…]')
    """
    shape, dtype = form
    return f"{dtype}[{'…' if shape is None else ','.join('?' if size is None else str(size) for size in shape)}]"
