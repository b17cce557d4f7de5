"""Opens each backend for tests that compare them.  No tests."""

import importlib.util
import os

import numpy as np
import pytest

import simstrategy as ss

BACKENDS = ("sim", "torch", "tensorflow", "xla")


def opened(name, replicas):
    """Returns a backend; skips the test where its package or its framework is not installed."""
    if name != "sim":
        pytest.importorskip(f"simstrategy_{name}")
        framework = "jax" if name == "xla" else name
        if importlib.util.find_spec(framework) is None:
            pytest.skip(f"{framework} is not installed")
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return ss.backend(name, replicas=replicas)


def put(backend, value):
    """Returns a value as an array on the backend's first device."""
    return backend.put(np.asarray(value), backend.devices[0])
