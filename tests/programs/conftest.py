"""Makes the modules of this folder importable by its tests, and opens each backend once.  It holds no test."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from program_machines import Machines


@pytest.fixture(scope="session")
def machines() -> Iterator[Machines]:
    """The opened backends, closed at the end of the session."""
    opened = Machines()
    yield opened
    opened.close()
