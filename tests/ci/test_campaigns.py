"""Campaigns of whole programs at quick counts, and that they can fail; `ci/run.py deep` has the full ones."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = ROOT / "ci" / "campaigns"
DEVIATIONS = ROOT / "backends" / "tf_distribute" / "deviations.toml"


def asked(file, *options):
    """Returns the exit code and what a campaign prints."""
    command = [sys.executable, str(CAMPAIGNS / file), *options]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


@pytest.mark.slow
@pytest.mark.deep
def test_generated_programs_agree_on_every_pair():
    counts = ("--programs", "6", "--compiled", "3", "--jobs", "1")
    # The interpreter takes as many replicas as there are processors.
    last = ["compiled", *(["interpreted"] if len(os.sched_getaffinity(0)) > 1 else [])]
    code, printed = asked("campaign.py", "tensorflow", "witness", "xla", "stacked", *last, *counts)
    assert code == 0, printed
    assert re.findall(r"^(\w+): .*, (\d+) different programs", printed, re.MULTILINE) == [
        ("tensorflow", "6"),
        ("witness", "6"),
        ("xla", "6"),
        ("stacked", "6"),
        *((one, "3") for one in last),
    ]
    assert "DIFFERENT" not in printed


@pytest.mark.slow
@pytest.mark.deep  # it takes minutes; tests/mutants has planted bugs of every kind
def test_a_planted_bug_is_found_and_becomes_small():
    code, printed = asked("hunt.py", "--bugs", "1", "--programs", "40", "--jobs", "1")
    assert code == 0, printed
    assert "every bug was found, and became small" in printed


def test_every_deviation_that_is_excused_has_a_reproduction():
    excused = re.findall(r'^    "(.*)": _', (CAMPAIGNS / "known.py").read_text(encoding="utf-8"), re.MULTILINE)
    described = tomllib.loads(DEVIATIONS.read_text(encoding="utf-8"))["deviation"]
    assert excused
    assert excused == [one["name"] for one in described]
