"""Processes that several launchers start meet, and several replicas in each are those of a simulated cluster."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gloo_worker
import launched
import numpy as np
import pytest

import simstrategy as ss
from simstrategy.launch import Launcher

WORKERS = 2


def values(ended: Any) -> list[Any]:
    assert all(one.ok for one in ended), ended
    return [one.value for one in ended]


@pytest.mark.slow
@pytest.mark.parametrize("name", launched.LAUNCHERS)
def test_processes_meet_as_their_launcher_says(launcher: Launcher, name: str) -> None:
    assert values(launcher.run(launched.as_launched_by, [name])) == [[0, 2, 3], [1, 2, 3]]


@pytest.mark.slow
def test_nothing_that_arrives_is_unpickled(launcher: Launcher) -> None:
    assert values(launcher.run(launched.audited)) == [[], []]


@pytest.mark.slow
@pytest.mark.deep
def test_torchrun_itself_starts_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command += [launched.__file__, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads((tmp_path / f"answer{rank}").read_text()) for rank in range(2)] == [[0, 2, 3], [1, 2, 3]]


@pytest.mark.slow
def test_several_replicas_in_each_process_equal_the_simulated_cluster(launcher: Launcher) -> None:
    got = values(launcher.run(launched.trained, [2]))
    for number, program in enumerate((gloo_worker.training, launched.halves)):
        cluster = ss.sim.Cluster(workers=2, replicas_per_worker=2)
        expected = cluster.run(lambda strategy, one=program: launched.collected(one, strategy))
        for worker in range(2):
            for left, right in zip(expected[worker], got[worker][number], strict=True):
                assert left[:2] == right[:2]
                np.testing.assert_allclose(
                    np.frombuffer(bytes.fromhex(right[2]), right[0]),
                    np.frombuffer(bytes.fromhex(left[2]), left[0]),
                    rtol=2e-6,
                )
