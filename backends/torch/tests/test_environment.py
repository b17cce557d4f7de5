"""Who a process is, by what torchrun, TF_CONFIG, srun and mpirun set, and what is refused."""

import json
from typing import Any

import pytest

from simstrategy.errors import InvalidArgument
from simstrategy_torch.environment import Place, place_of

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "host0", "MASTER_PORT": "29500"}
SLURM = {
    "SLURM_PROCID": "5",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_STEP_NODELIST": "gpu[03-07,11]",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
}
OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


def place(settings: dict[str, str], rank: Any = None, size: Any = None, method: Any = None) -> Place:
    return place_of("gloo", settings, rank, size, method)


def tensorflow(cluster: Any, kind: Any, index: Any) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


def test_nobody_told_anything_is_a_world_of_its_own() -> None:
    assert place({}) == Place(0, 1, 0, "127.0.0.1", 0, "")
    assert place({"MASTER_ADDR": "host0", "SLURM_PROCID": "3", "SLURM_NTASKS": "4"}).size == 1  # a batch script itself


def test_torchrun_stands_above_the_others() -> None:
    settings = TORCHRUN | SLURM | OPEN_MPI | tensorflow({"worker": ["a:1", "b:2"]}, "worker", 1)
    assert place(settings) == Place(3, 4, 1, "host0", 29500, "")


def test_options_stand_above_the_environment() -> None:
    assert place(TORCHRUN, 0, 2, "tcp://[::1]:1234") == Place(0, 2, 1, "::1", 1234, "")
    assert place(SLURM, 0, 2, "file:///shared/meet") == Place(0, 2, 0, "127.0.0.1", 0, "/shared/meet")
    assert place(SLURM, method="tcp://host9:99") == Place(5, 8, 1, "host9", 99, "")
    assert str(place(SLURM, method="file:///shared/meet")) == "/shared/meet"
    assert str(place(TORCHRUN)) == "host0:29500"


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "expected"),
    [
        ({"worker": ["a:1000", "b:1001"]}, "worker", 1, (1, 2, "a", 1000)),
        ({"chief": ["c:1"], "worker": ["a:2", "b:3"]}, "chief", 0, (0, 3, "c", 1)),
        ({"chief": ["c:1"], "worker": ["a:2", "b:3"], "ps": ["p:4"]}, "worker", 1, (2, 3, "c", 1)),
        ({"master": ["c:1"], "worker": ["a:2"]}, "worker", "0", (1, 2, "c", 1)),
        ({"worker": ["[::1]:7"]}, "worker", 0, (0, 1, "::1", 7)),
        ({}, "worker", 0, (0, 1, "127.0.0.1", 0)),
    ],
)
def test_tensorflows_cluster_has_the_chief_first(cluster: Any, kind: str, index: Any, expected: Any) -> None:
    found = place(tensorflow(cluster, kind, index))
    assert (found.rank, found.size, found.host, found.port) == expected


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("gpu[03-07,11]", "gpu03"),
        ("gpu[3]", "gpu3"),
        ("a-[1-2]-ib,b", "a-1-ib"),
        ("left,right", "left"),
        ("alone", "127.0.0.1"),
        ("rack2,gpu[1-2]", "rack2"),
    ],
)
def test_slurms_first_node_is_where_all_meet(nodes: str, first: str) -> None:
    found = place(SLURM | {"SLURM_STEP_NODELIST": nodes})
    assert (found.rank, found.size, found.local_rank, found.host) == (5, 8, 1, first)


def test_a_job_finds_one_port_and_another_job_another() -> None:
    ports = [place(SLURM | {"SLURM_JOB_ID": job}).port for job in ("1", "1", "2")]
    assert ports[0] == ports[1] != ports[2]
    assert all(20_000 <= port < 32_000 for port in ports)
    assert place(SLURM | {"MASTER_PORT": "1234", "MASTER_ADDR": "x"})[3:5] == ("x", 1234)


def test_open_mpi_on_one_machine_meets_there_and_else_is_to_be_told_where() -> None:
    found = place(OPEN_MPI)
    assert found[:4] == (1, 2, 1, "127.0.0.1")
    apart = OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "1"}
    assert place(apart | {"MASTER_ADDR": "host0", "MASTER_PORT": "29500"})[3:5] == ("host0", 29500)
    with pytest.raises(InvalidArgument, match="mpirun -x MASTER_ADDR=host0"):
        place(apart)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"RANK": "0"}, "takes WORLD_SIZE from the environment"),
        ({"WORLD_SIZE": "2"}, "takes RANK from the environment"),
        (TORCHRUN | {"RANK": "-1"}, "found '-1' instead of a number"),
        (TORCHRUN | {"RANK": "4"}, "got rank 4 of world_size 4: ranks are 0 to 3"),
        ({"TF_CONFIG": "{"}, "TF_CONFIG is no cluster that the backend 'gloo' can read"),
        ({"TF_CONFIG": "[]"}, "TF_CONFIG is no cluster"),
        ({"TF_CONFIG": "{}"}, "TF_CONFIG is no cluster"),
        (tensorflow({"worker": []}, "worker", 0), "TF_CONFIG is no cluster"),
        (tensorflow({"worker": ["host"]}, "worker", 0), "TF_CONFIG is no cluster"),
        (tensorflow({"worker": ["a:1"]}, "worker", 1), "ranks are 0 to 0"),
        (tensorflow({"worker": ["a:1"]}, "worker", None), "TF_CONFIG is no cluster"),
        (tensorflow({"worker": ["a:1"], "ps": ["b:1"]}, "ps", 0), "makes this process a 'ps'"),
        (tensorflow({"worker": ["a:1"]}, "evaluator", 0), "makes this process a 'evaluator'"),
        ({**SLURM, "SLURM_LOCALID": "x"}, "takes SLURM_LOCALID from the environment"),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, "takes OMPI_COMM_WORLD_RANK from the environment"),
    ],
)
def test_what_is_missing_or_impossible_is_named(settings: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        place(settings)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["udp://a:1", "tcp://a", "tcp://a:99999", "file://host/x", "", "tcp://:1", 7])
def test_a_meeting_place_that_is_none_is_refused(method: Any) -> None:
    with pytest.raises(InvalidArgument, match="init_method is"):
        place(TORCHRUN, method=method)
