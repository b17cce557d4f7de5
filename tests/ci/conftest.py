"""Puts the repository's root on the path, so that these tests import `ci`, which is not installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
