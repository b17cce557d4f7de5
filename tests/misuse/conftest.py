"""Makes the cases importable by the tests of this folder.  It holds no test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
