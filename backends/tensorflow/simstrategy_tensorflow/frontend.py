"""The `simstrategy.device.Frontend` of TensorFlow: variables, datasets and functions of TensorFlow in a strategy.

The parts are in `variables.py`, `sources.py`, `loops.py`, `placement.py` and `conversion.py`.
"""

import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, final

import tensorflow as tf

from simstrategy.device import Device, Frontend, MakeVariable
from simstrategy_tensorflow.loops import Put, TensorFlowDataset, TensorFlowIterator
from simstrategy_tensorflow.placement import obstacle_from_here
from simstrategy_tensorflow.sources import TensorFlowSource
from simstrategy_tensorflow.variables import DistributedVariable, scope_of

__all__ = ["TensorFlowFrontend"]


@final
class TensorFlowFrontend:
    """The frontend of one backend."""

    __slots__ = ("_compiled", "_devices", "_put")

    def __init__(self, devices: tuple[Device, ...], put: Put) -> None:
        self._devices, self._put = devices, put
        self._compiled: weakref.WeakKeyDictionary[Any, list[tuple[Any, Any]]] = weakref.WeakKeyDictionary()

    def attach(self, make: MakeVariable) -> Callable[[], AbstractContextManager[None]]:
        return scope_of(make)

    def variable(self, value: Any) -> Any:
        return value.inner if isinstance(value, DistributedVariable) else value

    def compiled(self, function: Any, run: Callable[..., Any]) -> Callable[..., Any] | None:
        compiles = isinstance(function, tf.types.experimental.PolymorphicFunction)
        if not compiles or not hasattr(function, "python_function"):
            return None
        known = self._compiled.setdefault(function, [])
        for one, compiled in known:
            if one == run:
                return compiled  # type: ignore[no-any-return]

        inner = function.python_function

        def call(args: Any, kwargs: Any) -> Any:
            return run(inner, args, kwargs)

        made = tf.function(call)
        known.append((run, made))
        return made  # type: ignore[no-any-return]

    def obstacle(self) -> Callable[[], str | None]:
        return obstacle_from_here()

    def source(self, dataset: Any) -> Any:
        return TensorFlowSource(dataset) if isinstance(dataset, tf.data.Dataset) else dataset

    def dataset(self, dataset: Any) -> Any:
        if hasattr(dataset, "get_next"):
            return TensorFlowIterator(dataset, self._devices, self._put)
        return TensorFlowDataset(dataset, self._devices, self._put)

    def count(self, array: tf.Tensor, axes: tuple[int, ...]) -> tf.Tensor:
        with tf.device(array.device):
            sizes = tf.shape(array, tf.int64)
            return tf.reduce_prod(tf.gather(sizes, list(axes)))


if TYPE_CHECKING:
    _: Frontend = TensorFlowFrontend((), lambda array, device: array)
