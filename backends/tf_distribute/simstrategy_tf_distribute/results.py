"""Converts the result of a program to arrays on the host, each with a path.

A model becomes its weights, and a history its epochs. The arrays are compared elsewhere.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import keras  # type: ignore[import-untyped]
import numpy as np
import tensorflow as tf

from simstrategy.errors import InvalidArgument
from simstrategy.short_repr import short_repr

__all__ = ["leaves_of"]

Host = np.ndarray[Any, Any]


def leaves_of(value: Any, path: str, models: list[Any]) -> Iterator[tuple[str, Host]]:
    """Yields path and value of each leaf of a result; appends its models to `models`.

    Raises InvalidArgument for a leaf that is no array of numbers.
    """
    if isinstance(value, keras.Model):
        models.append(value)
        for weight in value.weights:
            yield f"{path}: {weight.path}", np.asarray(weight.numpy())
    elif isinstance(value, keras.callbacks.History):
        yield from leaves_of(value.history, path, models)
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from leaves_of(value[key], f"{path}[{key!r}]", models)
    elif isinstance(value, (list, tuple)) and not all(isinstance(one, float) for one in value):
        for number, item in enumerate(value):
            yield from leaves_of(item, f"{path}[{number}]", models)
    elif value is not None and not (isinstance(value, (list, tuple)) and not value):
        yield path, _array(value, path)


def _array(value: Any, path: str) -> Host:
    array = np.asarray(value.numpy() if isinstance(value, (tf.Variable, tf.Tensor)) else value)
    if array.dtype.kind not in "biufc":
        raise InvalidArgument(
            f"The program returned {short_repr(value)} at {path}, which is no array of numbers. Return the fitted "
            f"model, "
            f"weights, such as model.get_weights(), or a history, such as model.fit(...).history."
        )
    if array.dtype == np.float64 and not isinstance(value, np.ndarray):
        # Keras computes losses and metrics in float32 and returns Python floats.
        narrow = array.astype(np.float32)
        return narrow if np.array_equal(narrow, array, equal_nan=True) else array
    return array
