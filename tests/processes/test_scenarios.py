"""Some of the scenarios on every backend that spans processes; every_scenario.py has all.  Clauses: K-3, K-4."""

from pathlib import Path

import pytest
from playing import judge
from scenarios import SCENARIOS, SUBJECTS
from shares import one_in

from simstrategy.launch import Launcher

QUICK = (
    "another_op",
    "another_order",
    "early_return",
    "another_axis_outside",
    "one_run_too_few",
    "an_exception",
    "a_queue_that_nobody_fills",
    "an_exit",
    "killed",
    "the_first_killed",
    "stopped",
    "another_world",
    "port_of_a_stranger",
    "one_missing",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(3, QUICK))
def test_every_survivor_names_the_rank_and_the_call(
    launcher: Launcher, backend: str, tmp_path: Path, name: str
) -> None:
    judge(launcher, name, backend, tmp_path)


def test_there_are_forty_scenarios_at_least() -> None:
    assert len(SCENARIOS) >= 40
    for subject in SUBJECTS.values():
        assert not [name for name in subject.excluded if name not in SCENARIOS or name in QUICK]
        assert len(subject.excluded) <= 2
    assert not [name for name in QUICK if name not in SCENARIOS]
