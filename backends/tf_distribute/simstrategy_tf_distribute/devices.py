"""The logical CPUs that the real strategies run on: made by the backend that knows how, and no GPUs."""

import tensorflow as tf

from simstrategy_tensorflow import open_tensorflow

__all__ = ["mirrored", "names"]


def names(replicas: int) -> list[str]:
    """Returns the names of so many logical CPUs.  Raises InvalidArgument, or BackendUnavailable if there are fewer."""
    return [f"CPU:{device.rank}" for device in open_tensorflow(replicas=replicas).devices]


def mirrored(replicas: int, cross_device_ops: tf.distribute.CrossDeviceOps | None) -> tf.distribute.MirroredStrategy:
    """Returns the real MirroredStrategy on so many logical CPUs."""
    return tf.distribute.MirroredStrategy(names(replicas), cross_device_ops=cross_device_ops)
