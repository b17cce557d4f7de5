"""Makes the result of a TensorFlow program one that `simstrategy.check` takes apart: models, values of replicas."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import keras  # type: ignore[import-untyped]
import numpy as np
import tensorflow as tf

from simstrategy.check.contents import Contents, contents_of
from simstrategy_tf_distribute.ops import outward

__all__ = ["contents_of_result", "models_of"]

ARRAYS: Final = (tf.Tensor, tf.Variable)


def contents_of_result(result: Any, is_kept: Callable[[Any], bool]) -> Contents:
    """Takes a result apart.

    is_kept: whether a variable is compared with the others of the run; a model has an entry for other weights alone.
    """
    return contents_of(_plain(result, is_kept), lambda one: np.asarray(one.numpy()), ARRAYS, lambda one: one)


def models_of(result: Any) -> list[Any]:
    """Returns the Keras models in a nest."""
    if isinstance(result, keras.Model):
        return [result]
    items: Any = list(result.values()) if isinstance(result, Mapping) else result
    return [model for item in items for model in models_of(item)] if isinstance(items, (list, tuple)) else []


def _plain(value: Any, is_kept: Callable[[Any], bool]) -> Any:
    if isinstance(value, keras.Model):
        return {one.path: np.asarray(one.numpy()) for one in value.weights if not is_kept(one.value)}
    if isinstance(value, keras.callbacks.History):
        return {name: np.asarray(numbers) for name, numbers in value.history.items()}
    if isinstance(value, keras.Variable):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(one, is_kept) for key, one in value.items()}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)([_plain(one, is_kept) for one in value])
    return outward(value)
