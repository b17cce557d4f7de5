"""The scripts of ci/golden as modules, for tests of them."""

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

TOOLS = Path(__file__).resolve().parents[2] / "ci" / "golden"


def tools_named(names: Iterable[str]) -> SimpleNamespace:
    """Imports scripts as those of their own folder are, and then takes them out of the way of others."""
    sys.path.insert(0, str(TOOLS))
    try:
        return SimpleNamespace(**{name: importlib.import_module(name) for name in names})
    finally:
        sys.path.remove(str(TOOLS))
        for name in names:
            sys.modules.pop(name, None)
