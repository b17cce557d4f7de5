"""TensorFlow's devices as a backend of simstrategy.  The door only: it sets TensorFlow's log level and opens."""

import os

# Read when TensorFlow is first imported; whoever has set it keeps what they chose.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

from simstrategy_tensorflow.backend import TensorFlowBackend
from simstrategy_tensorflow.opening import open_tensorflow

__all__ = ["TensorFlowBackend", "open_tensorflow"]
