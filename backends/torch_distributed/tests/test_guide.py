"""The script of docs/pytorch.md ends as the guide shows."""

import re
from pathlib import Path

import pytest
from commanded import torchrun

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "pytorch.md"


@pytest.mark.slow
def test_the_script_of_the_guide_ends_as_it_shows(tmp_path):
    (script, shown), _ = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
    run = torchrun(tmp_path, script, name="train.py")
    assert run.code == 1
    assert shown in run.err


@pytest.mark.slow
def test_the_script_for_gpus_of_the_guide_prints_what_it_shows(tmp_path):
    _, (script, shown) = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", GUIDE.read_text(), re.M | re.S)
    run = torchrun(tmp_path, script, "--device", "cpu-for-cuda", name="train.py")
    assert (run.code, run.out) == (0, shown), run.err
