"""Every scenario on every backend that spans processes; `ci/run.py deep scenarios` runs it.

python -m pytest tests/processes/every_scenario.py
"""

from pathlib import Path

import pytest
from playing import judge
from scenarios import SCENARIOS, SUBJECTS

from simstrategy.launch import Launcher


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_survivor_names_the_rank_and_the_call(
    launcher: Launcher, backend: str, tmp_path: Path, name: str
) -> None:
    if name in SUBJECTS[backend].excluded:
        pytest.skip(f"{backend}, {name}: {SUBJECTS[backend].excluded[name]}")
    judge(launcher, name, backend, tmp_path)
