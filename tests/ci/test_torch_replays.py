"""Scripts of torchrun give the same bytes in every run, at a quick count; `ci/run.py deep` has the full one.

Clauses: G-78.
"""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.skipif(
    importlib.util.find_spec("simstrategy_torch_distributed") is None,
    reason="simstrategy-torch-distributed, which runs scripts on simulated ranks, is not installed",
)
def test_five_scripts_give_the_same_bytes_in_every_run_also_under_load():
    command = [sys.executable, str(ROOT / "ci" / "torch_replays.py"), "--runs", "1", "--loaded", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 10 runs ended with exit code 0, and each script gave the same bytes in every run." in done.stdout
