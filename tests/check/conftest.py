"""Makes the modules of this folder importable by its tests, and gives them a wrong backend.  It holds no test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def wrong(monkeypatch):
    """Gives a function that sets which group-calls of a backend are wrong, and how; it returns the backend's name."""
    import wrong_backend

    def set_how(inner="sim", **how):
        monkeypatch.setattr(wrong_backend.Wrong, "inner", inner)
        monkeypatch.setattr(wrong_backend.Wrong, "how", how)
        return wrong_backend.NAME

    return set_how
