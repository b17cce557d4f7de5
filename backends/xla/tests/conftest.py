"""The one backend of these tests: opened once, since JAX makes its CPU devices once."""

import pytest

from simstrategy_xla import XlaBackend, open_xla


@pytest.fixture(scope="session")
def xla() -> XlaBackend:
    return open_xla(replicas=4, platform="cpu")
