"""The one backend of these tests: opened once, since JAX makes its CPU devices once.

Lets this folder's modules import each other as well: pytest's importlib mode does not.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from simstrategy_xla import XlaBackend, open_xla


@pytest.fixture(scope="session", autouse=True)  # before a test that uses JAX alone, which would make one device
def xla() -> XlaBackend:
    return open_xla(replicas=4, platform="cpu")


@pytest.fixture(autouse=True)  # programs with Keras name its library there when they are loaded
def _environment() -> Iterator[None]:
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)
