"""Two real processes over gloo: equal to a simulated cluster, agreeing on what is wrong, and never left waiting."""

import importlib.util
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simstrategy as ss

WORKER = Path(__file__).with_name("gloo_worker.py")
LIMIT_S = 60
LOOPBACK = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


def _programs() -> Any:
    found = importlib.util.spec_from_file_location("gloo_worker", WORKER)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@contextmanager
def started(scenario: str, folder: Path) -> Iterator[list["subprocess.Popen[str]"]]:
    """Starts two processes with torchrun's environment; whatever happens, none is left."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    try:
        for rank in range(2):
            environment = os.environ | {"RANK": str(rank), "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
            environment |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            command = [sys.executable, str(WORKER), scenario, str(folder / f"answers{rank}")]
            pipe = subprocess.PIPE
            processes.append(
                subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
            )
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def finish(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("gloo")
    with started("agreeing", folder) as processes:
        for process in processes:
            finish(process)
    return [json.loads((folder / f"answers{rank}").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def simulated() -> dict[str, list[dict[str, Any]]]:
    worker = _programs()
    results = {}
    for name, program in worker.PROGRAMS.items():
        cluster = ss.sim.Cluster(workers=2, replicas_per_worker=1)
        results[name] = [outcome.result for outcome in cluster.outcomes(lambda s, one=program: worker.run(one, s))]
    return results


def restored(arrays: list[Any]) -> list[Any]:
    return [np.frombuffer(bytes.fromhex(data), dtype).reshape(shape) for dtype, shape, data in arrays]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["training", "dtypes", "long_notes"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_program_equals_the_simulated_cluster(answers: Any, simulated: Any, name: str, rank: int) -> None:
    expected, got = restored(simulated[name][rank]["arrays"]), restored(answers[rank][name]["arrays"])
    assert [(one.dtype, one.shape) for one in got] == [(one.dtype, one.shape) for one in expected]
    for left, right in zip(expected, got, strict=True):
        np.testing.assert_allclose(right, left, rtol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["other_op", "other_shape", "other_dtype", "other_kind", "early_return"])
def test_both_processes_hear_the_same_disagreement_as_a_simulated_cluster(
    answers: Any, simulated: Any, name: str
) -> None:
    first, second = answers[0][name], answers[1][name]
    assert first == second
    assert first["error"] == "ReplicasDisagree"
    assert simulated[name][0] == first


@pytest.mark.slow
def test_one_process_raises_and_the_other_hears_of_it(answers: Any) -> None:
    assert answers[1]["one_raises"] == {"error": "KeyError", "message": "'only here'"}
    assert answers[0]["one_raises"]["error"] == "PeerFailed"
    assert "replica 1: KeyError('only here') raised at" in answers[0]["one_raises"]["message"]


@pytest.mark.slow
def test_gradients_cross_processes(answers: Any) -> None:
    # d/dx of both losses (3 times the mean of the total 2 x²): MEAN hands 1.5 back, SUM 3, times 2 x.
    assert [one["gradients"]["gradients"][0] for one in answers] == [[6.0, 12.0]] * 2
    assert answers[0]["gradients"]["gradients"][1] == [[0, 2]]
    assert answers[1]["gradients"]["gradients"][1] == [[4, 6], [8, 10]]


@pytest.mark.slow
def test_two_groups_at_once_keep_apart_and_notes_of_different_lengths_come_whole(answers: Any) -> None:
    assert [one["notes"] for one in answers] == [[[1, 1], [0, 5000]]] * 2


@pytest.mark.slow
def test_the_backend_opens_beside_the_programs_own_group_and_within_it(answers: Any) -> None:
    assert [one["beside and within"] for one in answers] == [[[[2, 2], [2, 2]], [2], [2]]] * 2


@pytest.mark.slow
def test_nothing_listens_beyond_the_loopback_and_nothing_is_left(answers: Any) -> None:
    for one in answers:
        assert one["listening"]
        assert set(one["listening"]) <= set(LOOPBACK)
        assert one["listening left"] == []
        assert one["threads left"] == 0
        assert not one["file left"]


@pytest.mark.slow
def test_a_process_that_comes_late_or_dies_fails_its_peers_call(tmp_path: Path) -> None:
    with started("dying", tmp_path) as (first, second):
        assert first.stdout is not None
        assert first.stdout.readline() == "heard\n"
        finish(second)  # its input ends here, and so does it
        finish(first)
    answers = json.loads((tmp_path / "answers0").read_text())
    assert "exchange in worker 0 of 2" in answers["late"]
    assert "worker 1 did not come within 0.2 s" in answers["late"]
    assert "exchange in worker 0 of 2: worker 1 ended or lost the connection" in answers["dead"]
    assert answers["threads left"] == 0
