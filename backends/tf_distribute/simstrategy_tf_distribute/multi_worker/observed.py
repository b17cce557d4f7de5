"""A MultiWorkerMirroredStrategy of one worker whose calls are observed."""

import os
import sys
from collections.abc import Sequence
from typing import Any, Final, final

import keras  # type: ignore[import-untyped]
import tensorflow as tf

from simstrategy.errors import Unsupported
from simstrategy.trace import describe_site
from simstrategy_tf_distribute.calls import unconverted
from simstrategy_tf_distribute.observation import Observation

__all__ = ["ObservedWorker"]

_Real: Final[Any] = tf.distribute.MultiWorkerMirroredStrategy


@final
class ObservedWorker(tf.distribute.MultiWorkerMirroredStrategy):  # type: ignore[misc]  # Keras tests for this class
    """The strategy of one worker with one replica.  It connects to the other workers, by TF_CONFIG.

    observation: what the calls pass through.
    """

    def __init__(self, observation: Observation) -> None:
        self.observation = observation
        _Real.__init__(self)

    def scope(self) -> Any:
        return self.observation.scope(_Real.scope(self))

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        def distribute(one: Any) -> Any:
            return _Real.experimental_distribute_dataset(self, one, options)

        return self.observation.dataset(distribute, dataset, sys._getframe(1))

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        def distribute(made: Any) -> Any:
            return _Real.distribute_datasets_from_function(self, made, options)

        return self.observation.datasets(distribute, dataset_fn, sys._getframe(1))

    def run(self, fn: Any, args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        def run(function: Any) -> Any:
            return _Real.run(self, function, args, kwargs, options)

        return self.observation.run(run, fn, args, kwargs, sys._getframe(1))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        def reduce() -> Any:
            return _Real.reduce(self, reduce_op, value, axis)

        frame = sys._getframe(1)
        leaves = tf.nest.flatten(value) if tf.nest.is_nested(value) else ()
        if any(isinstance(one, tf.distribute.DistributedValues) for one in leaves):
            site = describe_site(self.observation.lines.source(frame))
            if frame.f_code.co_filename.startswith(_KERAS):
                raise Unsupported(_OF_KERAS.format(site=site))
            raise ValueError(_NESTED.format(site=site))
        return self.observation.reduce(reduce, reduce_op, value, axis, frame)


_NESTED: Final = (
    "strategy.reduce at {site} got a nest of distributed values, which MultiWorkerMirroredStrategy of TensorFlow 2.21 "
    "does not convert to tensors. Reduce one value at a time."
)
_OF_KERAS: Final = (
    "At {site} Keras 3.15 reduces a nest of distributed values, as it does at the beginning of `fit` and `evaluate`, "
    "and MultiWorkerMirroredStrategy of TensorFlow 2.21 does not convert that to tensors: with these versions `fit` "
    "does not start in several processes. Leave --workers out, or train by a loop of strategy.run"
)
_KERAS: Final = os.path.dirname(str(keras.__file__)) + os.sep

for _function in (
    ObservedWorker.run,
    ObservedWorker.reduce,
    ObservedWorker.experimental_distribute_dataset,
    ObservedWorker.distribute_datasets_from_function,
):
    unconverted(_function)
