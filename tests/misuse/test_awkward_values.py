"""Errors about values whose repr differs from run to run are the same in every run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).with_name("awkward_values.py")


def printed(seed):
    run = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        check=False,
        text=True,
        timeout=100,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


@pytest.mark.slow
def test_errors_hold_no_addresses_and_no_order_of_a_set():
    one, other = printed("1"), printed("2")
    assert len(one) > 400
    assert [line for line in one if re.search(r"0x[0-9a-f]{6}", line)] == []
    assert [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]] == []
