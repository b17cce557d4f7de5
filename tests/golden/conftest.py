"""Imports the replay from ci/golden, so that tests find it; the folder's scripts stay out of the way."""

import importlib.util
import sys
from pathlib import Path

_FOLDER = str(Path(__file__).resolve().parents[2] / "ci" / "golden")

sys.path.insert(0, _FOLDER)
importlib.import_module("golden_replay.command" if importlib.util.find_spec("typer") else "golden_replay")
sys.path.remove(_FOLDER)
