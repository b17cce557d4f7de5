"""The logical CPUs that the real strategies run on: made by the backend that knows how, and no GPUs."""

from collections.abc import Sequence
from typing import Any, Final, final

import tensorflow as tf

from simstrategy_tensorflow import open_tensorflow
from simstrategy_tf_distribute.observing import Observer, nudged_dataset

__all__ = ["ObservedStrategy", "mirrored", "names"]


def names(replicas: int) -> list[str]:
    """Returns the names of so many logical CPUs.  Raises InvalidArgument, or BackendUnavailable if there are fewer."""
    return [f"CPU:{device.rank}" for device in open_tensorflow(replicas=replicas).devices]


def mirrored(replicas: int, cross_device_ops: tf.distribute.CrossDeviceOps | None) -> tf.distribute.MirroredStrategy:
    """Returns the real MirroredStrategy on so many logical CPUs."""
    return tf.distribute.MirroredStrategy(names(replicas), cross_device_ops=cross_device_ops)


_iterators: Final[list[Any]] = []
"""Of the last observed strategy: see `_kept`."""


def _kept(dataset: Any) -> Any:
    """Returns a distributed dataset whose iterators live until the next strategy is made.

    TensorFlow 2.21.0 ends the process now and then where an iterator goes while its own thread still reads ahead
    (`MultiDeviceBuffer::BackgroundThread` asks one that is gone for the next element), and Keras lets go of each right
    after its last step.
    """
    kind = type(dataset)

    def iterate(self: Any) -> Any:
        iterator = kind.__iter__(self)
        _iterators.append(iterator)
        return iterator

    dataset.__class__ = type(kind.__name__, (kind,), {"__iter__": iterate})
    return dataset


@final
class ObservedStrategy(tf.distribute.MirroredStrategy):  # type: ignore[misc]  # what Keras asks for
    """The real MirroredStrategy on logical CPUs, whose steps an `Observer` is told, if there is one.

    pattern: moves what it distributes by one unit in the last place; None leaves it.
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
        given = dataset if self._pattern is None else nudged_dataset(dataset, self._pattern)
        return _kept(tf.distribute.MirroredStrategy.experimental_distribute_dataset(self, given, options))

    def run(self, fn: Any, args: Sequence[Any] = (), kwargs: Any = None, options: Any = None) -> Any:
        if self._observer is not None:
            self._observer.starts([args, kwargs or {}])
        return tf.distribute.MirroredStrategy.run(self, fn, args, kwargs, options)


# AutoGraph takes a function with this mark as it is, and still converts the user's that it is given.
for _function in (ObservedStrategy.run, ObservedStrategy.experimental_distribute_dataset):
    setattr(_function, "autograph_info__", {})  # noqa: B010 - a mark that TensorFlow reads
