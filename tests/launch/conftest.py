import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the importlib mode does not find a folder's other files
