"""A few of the scenarios, on workers that stay; every_scenario.py plays them all.  Clauses: K-3, K-4."""

from pathlib import Path

import pytest
from playing import judge
from scenarios import SCENARIOS

from simstrategy.launch import Launcher

QUICK = (
    "another_op",
    "another_order",
    "early_return",
    "another_axis_outside",
    "one_run_too_few",
    "an_exception",
    "an_exit",
    "killed",
    "the_first_killed",
    "stopped",
    "another_world",
    "port_of_a_stranger",
    "one_missing",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_every_survivor_names_who_and_what(launcher: Launcher, tmp_path: Path, name: str) -> None:
    judge(launcher, name, tmp_path)


def test_there_are_forty_scenarios_at_least() -> None:
    assert len(SCENARIOS) >= 40
    assert not [name for name in QUICK if name not in SCENARIOS]
