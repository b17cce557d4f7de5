"""Lets the files of this folder import each other."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
