"""TensorFlow's strategy on the same logical CPUs, for tests that put ours beside it."""

from typing import Any

import tensorflow as tf

import simstrategy as ss

__all__ = ["COUNT", "theirs"]

ss.backend("tensorflow")  # makes the logical CPUs, while that is still possible

COUNT = 2


def theirs(count: int = COUNT) -> Any:
    """Returns a MirroredStrategy that copies: collectives of several strategies in one process spoil each other."""
    copies = tf.distribute.ReductionToOneDevice()
    return tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)], cross_device_ops=copies)
