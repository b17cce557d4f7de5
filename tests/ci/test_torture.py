"""Same seed, same bytes, at a quick count; `ci/run.py torture` has the full one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.deep
def test_seeded_programs_repeat_and_planted_faults_are_seen():
    command = [sys.executable, str(ROOT / "ci" / "torture.py"), "--seeds", "25"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all digests equal, every planted fault seen" in done.stdout
