"""What a check must never call agreement, and what its processes must never do."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.processes import run_in_processes
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.strategy import group_of


def wrong_method(strategy):
    return strategy.rum(1)


def leaves(strategy):
    raise SystemExit(0)


def nearly_zero(strategy):
    values = strategy.xp.asarray(np.float32([0.1, 0.2, 0.3]))
    return strategy.xp.mean(values) - strategy.xp.mean(values)


def dies(strategy):
    import os

    if group_of(strategy).coordinator.worker == 1:
        os._exit(3)
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", 1.0))


@pytest.mark.parametrize("program", [wrong_method, leaves])
def test_a_program_that_raises_everywhere_is_no_agreement_unless_that_is_asked_for(program):
    report = ss.check(program, replicas=[2])
    assert not report.agrees
    assert "raises" in str(report)
    assert f"raised at {__file__.rpartition('/')[2]}" in str(report)
    assert ss.check(program, replicas=[2, 3], allow_errors=True).agrees


def test_a_program_that_changes_from_run_to_run_is_told_and_not_taken_for_rounding():
    counter = itertools.count()
    report = ss.check(lambda strategy: float(next(counter)), replicas=[1])
    assert not report.agrees
    assert "gives different values in two identical runs" in str(report)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backends": []}, "backends is empty"),
        ({"replicas": []}, "replicas is empty"),
        ({"schedules": []}, "schedules is empty"),
        ({"backends": "sim"}, "backends is a list"),
        ({"replicas": 2}, "replicas is a list"),
        ({"replicas": ["2"]}, "a list of int"),
        ({"schedules": [ss.schedules.Seeded(1)]}, "functions that make a schedule"),
        ({"semantics": "TF2"}, "semantics is a profile"),
    ],
)
def test_a_check_of_nothing_and_settings_of_a_wrong_kind_are_refused(settings, message):
    with pytest.raises(InvalidArgument, match=message):
        ss.check(nearly_zero, **settings)


def test_a_result_of_exactly_zero_has_a_tolerance_of_its_own():
    from simstrategy.check.compare import compare, sensitivity
    from simstrategy.check.outcome import Outcome

    zero, near, far = (Outcome((("result", np.float32(x)),), None, ()) for x in (0.0, -7e-9, 1e-3))
    units = sensitivity(zero, [])
    assert compare(zero, near, units).problem is None
    assert compare(zero, far, units).problem is not None


@pytest.mark.slow
def test_a_worker_that_dies_is_the_one_that_is_named():
    pytest.importorskip("simstrategy_torch")
    with pytest.raises(PeerFailed, match="Worker 1 of 2 ended with exit code 3"):
        run_in_processes(dies, "gloo", 2, ss.Semantics.TF1_15, 60.0)


def test_a_worker_starts_no_workers_of_its_own(monkeypatch):
    monkeypatch.setenv("SIMSTRATEGY_IN_WORKER", "1")
    with pytest.raises(InvalidArgument, match="__main__"):
        run_in_processes(dies, "gloo", 2, ss.Semantics.TF1_15, 60.0)


def test_a_time_limit_has_to_be_above_zero():
    with pytest.raises(InvalidArgument, match="time limit"):
        run_in_processes(dies, "gloo", 2, ss.Semantics.TF1_15, -1.0)


@pytest.mark.slow
def test_the_command_names_the_line_of_a_program_that_raises(tmp_path):
    file = tmp_path / "lesson.py"
    file.write_text("def program(strategy):\n    raise KeyError('mine')\n")
    done = subprocess.run(
        [sys.executable, "-m", "simstrategy", "run", str(file)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 1
    assert "KeyError raised at lesson.py:2" in done.stdout
