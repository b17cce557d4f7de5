"""TensorFlow's devices as a backend of simstrategy: the public name, and TensorFlow's log level."""

import os

# TensorFlow reads it at its first import; a value that the user has set is kept.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from simstrategy_tensorflow.backend import TensorFlowBackend
from simstrategy_tensorflow.opening import open_tensorflow

__all__ = ["TensorFlowBackend", "open_tensorflow"]
