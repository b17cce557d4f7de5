"""The iterators of observed distributed datasets: they are not tuned, and are kept until the next strategy is made.

Both are about how TensorFlow closes iterators, and neither changes what they give. A thread that tunes a pipeline and
is to end may miss that, and sleeps on, for as long as the pipeline has been in use, up to a minute; who closes the
iterator waits for it. The busier the machine is, the more often that happens.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import tensorflow as tf
from tensorflow.python.data.ops import multi_device_iterator_ops

__all__ = ["forget", "kept", "untuned"]

_made: Final[list[Any]] = []
"""The iterators of the last observed strategy."""

_MAKER: Final = "_create_device_dataset"
"""TensorFlow's function that makes the pipeline by which a device receives its part."""


def forget() -> None:
    """Lets the iterators of the last strategy go."""
    _made.clear()


def untuned(dataset: Any) -> Any:
    """Returns a dataset whose pipeline is not tuned."""
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)


def kept(dataset: Any) -> Any:
    """Makes a distributed dataset keep its iterators until `forget`, and not tune them; returns it.

    TensorFlow 2.21.0 sometimes ends the process if an iterator is deleted while its thread still reads ahead
    (`MultiDeviceBuffer::BackgroundThread` reads from the deleted iterator), and Keras deletes each one directly after
    its last step.
    """
    kind = type(dataset)

    def iterate(self: Any) -> Any:
        with _untuned_devices():
            iterator = kind.__iter__(self)
        _made.append(iterator)
        return iterator

    dataset.__class__ = type(kind.__name__, (kind,), {"__iter__": iterate})
    return dataset


@contextmanager
def _untuned_devices() -> Iterator[None]:
    """Makes the pipelines of devices untuned inside.

    TensorFlow 2.21.0 has no option for them: those of the dataset are not theirs.
    """
    names = vars(multi_device_iterator_ops)
    make = names.get(_MAKER)
    if make is None:  # another version
        yield
        return
    names[_MAKER] = lambda *arguments: untuned(make(*arguments))
    try:
        yield
    finally:
        names[_MAKER] = make
