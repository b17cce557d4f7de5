"""Every scenario, one after the other: what `ci/run.py deep scenarios` runs.  test_scenarios.py runs a few of them.

python -m pytest backends/torch/tests/every_scenario.py
"""

from pathlib import Path

import pytest
from playing import judge
from scenarios import SCENARIOS

from simstrategy.launch import Launcher


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_survivor_names_who_and_what(launcher: Launcher, tmp_path: Path, name: str) -> None:
    judge(launcher, name, tmp_path)
