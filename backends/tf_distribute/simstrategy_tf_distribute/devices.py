"""The logical CPUs of the reference strategies, made by simstrategy's TensorFlow backend, and an observed strategy."""

from collections.abc import Sequence
from typing import Any, Final, final

import tensorflow as tf

from simstrategy_tensorflow import open_tensorflow
from simstrategy_tf_distribute.observing import Observer, nudged_dataset

__all__ = ["ObservedStrategy", "mirrored", "names"]


def names(replicas: int) -> list[str]:
    """Returns the names of `replicas` logical CPUs.  Raises InvalidArgument, or BackendUnavailable for too few."""
    return [f"CPU:{device.rank}" for device in open_tensorflow(replicas=replicas).devices]


def mirrored(replicas: int, cross_device_ops: tf.distribute.CrossDeviceOps | None) -> tf.distribute.MirroredStrategy:
    """Returns a tf.distribute.MirroredStrategy on `replicas` logical CPUs."""
    return tf.distribute.MirroredStrategy(names(replicas), cross_device_ops=cross_device_ops)


_iterators: Final[list[Any]] = []
"""The iterators of the last observed strategy: see `_kept`."""


def _kept(dataset: Any) -> Any:
    """Makes a distributed dataset keep its iterators until the next strategy is made.

    TensorFlow 2.21.0 sometimes ends the process if an iterator is deleted while its thread still reads ahead
    (`MultiDeviceBuffer::BackgroundThread` reads from the deleted iterator), and Keras deletes each one directly after
    its last step.
    """
    kind = type(dataset)

    def iterate(self: Any) -> Any:
        iterator = kind.__iter__(self)
        _iterators.append(iterator)
        return iterator

    dataset.__class__ = type(kind.__name__, (kind,), {"__iter__": iterate})
    return dataset


@final
class ObservedStrategy(tf.distribute.MirroredStrategy):  # type: ignore[misc]  # Keras tests for this class
    """A MirroredStrategy on logical CPUs that reports its steps to an `Observer`, if there is one.

    pattern: changes the data that it distributes by one ulp, in this pattern; None leaves the data.
    """

    def __init__(
        self,
        replicas: int,
        cross_device_ops: tf.distribute.CrossDeviceOps,
        observer: Observer | None,
        *,
        pattern: int | None = None,
    ) -> None:
        tf.distribute.MirroredStrategy.__init__(self, names(replicas), cross_device_ops=cross_device_ops)
        _iterators.clear()
        self._observer = observer
        self._pattern = pattern

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        changed = dataset if self._pattern is None else nudged_dataset(dataset, self._pattern)
        return _kept(tf.distribute.MirroredStrategy.experimental_distribute_dataset(self, changed, options))

    def run(self, fn: Any, args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        if self._observer is not None:
            self._observer.starts([args, kwargs or {}])
        return tf.distribute.MirroredStrategy.run(self, fn, args, kwargs, options)


# AutoGraph does not convert a function with this mark, and still converts the user's function in its arguments.
for _function in (ObservedStrategy.run, ObservedStrategy.experimental_distribute_dataset):
    setattr(_function, "autograph_info__", {})  # noqa: B010 - a mark that TensorFlow reads
