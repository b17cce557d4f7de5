"""Simulated workers come to what one process comes to, and real processes to what simulated workers come to."""

import functools
import re
import warnings
from typing import Any, Final

import pytest
from agreeing import AGREEING
from disagreeing import DISAGREEING
from every_program import EVERY, every_program
from gradients import GRADIENTS
from program_catalogue import with_sites
from program_machines import bits, open_or_skip
from raising import RAISING

import simstrategy as ss
from simstrategy.check.outcome import program_folder, run_program
from simstrategy.check.processes import run_in_processes
from simstrategy.trace import Trace

ALIKE: Final = [name for name, case in (AGREEING | GRADIENTS).items() if case.cluster == "same"]
TIMEOUT_S: Final = 120.0

CLUSTERS: Final = [(2, 2), (2, 1), (3, 1), (1, 3)]
"""Workers, and replicas of each."""

PROCESSES: Final = [("gloo", 2, 1), pytest.param("gloo", 2, 2, marks=pytest.mark.deep)]
"""A backend of several processes, their number, and the replicas of each."""


@functools.cache
def simulated(workers: int, replicas: int) -> tuple[dict[str, Any], ...]:
    """Returns what every program comes to on each worker of a simulated cluster."""
    with warnings.catch_warnings():
        # Workers take turns, so whose warning it is cannot be told here; one process tells it.
        warnings.simplefilter("ignore")
        return ss.sim.Cluster(workers, replicas).run(every_program)


@functools.cache
def together(replicas: int) -> dict[str, Any]:
    """Returns what every program comes to in one process."""
    return simulated(1, replicas)[0]


def by_global_rank(found: dict[str, Any], offset: int) -> dict[str, Any]:
    """Returns a worker's leaves, with replicas counted over all workers."""

    def count_on(match: re.Match[str]) -> str:
        return f"of replica {int(match[1]) + offset}"

    return {re.sub(r"of local replica (\d+)", count_on, path): bits(leaf) for path, leaf in found["leaves"].items()}


@pytest.mark.parametrize(("workers", "replicas"), [(2, 2), (1, 3)])
@pytest.mark.parametrize("name", ALIKE)
def test_workers_come_to_what_one_process_comes_to(name: str, workers: int, replicas: int) -> None:
    expected = together(workers * replicas)[name]
    found = [worker[name] for worker in simulated(workers, replicas)]
    assert [one["error"] for one in found] == [expected["error"]] * workers
    parts = [by_global_rank(one, number * replicas) for number, one in enumerate(found)]
    for part in parts:
        # What is not one value per replica is the same on every worker.
        assert part == {path: by_global_rank(expected, 0)[path] for path in part}
    assert set().union(*parts) == set(by_global_rank(expected, 0))


@pytest.mark.parametrize(("workers", "replicas"), [pair for pair in CLUSTERS if pair[0] > 1])
@pytest.mark.parametrize("name", DISAGREEING)
def test_a_disagreement_reads_the_same_on_every_worker(name: str, workers: int, replicas: int) -> None:
    expected = ("ReplicasDisagree", DISAGREEING[name].message(workers * replicas))
    assert [worker[name]["error"] for worker in simulated(workers, replicas)] == [expected] * workers


@pytest.mark.parametrize(("workers", "replicas"), [pair for pair in CLUSTERS if pair[0] > 1])
@pytest.mark.parametrize("name", RAISING)
def test_an_exception_is_its_workers_own_and_the_others_hear_of_it(name: str, workers: int, replicas: int) -> None:
    case, last = RAISING[name], workers * replicas - 1
    *others, own = [worker[name] for worker in simulated(workers, replicas)]
    assert own["error"] == (case.error.__name__, case.text)
    assert own["notes"][0].splitlines()[0] == f"In replica {last}: {case.note(last)}"
    waiting = [f"replica {rank} was waiting in {with_sites(case.program, case.waiting, rank)}" for rank in range(last)]
    assert [line.strip() for line in own["notes"][0].splitlines()[1:]] == waiting[last - replicas + 1 :]
    for number, other in enumerate(others):
        kind, text = other["error"]
        lines = [line.strip() for line in text.splitlines()]
        here = range(number * replicas, (number + 1) * replicas)
        assert kind == "PeerFailed"
        assert f"replica {last}: {case.where(last)}" in lines
        assert sum("raised at" in line for line in lines) == 1
        assert all(f"replica {rank}: {with_sites(case.program, case.waiting, rank)}" in lines for rank in here)


@pytest.mark.parametrize(("workers", "replicas"), CLUSTERS)
def test_a_cluster_comes_to_the_same_every_time(workers: int, replicas: int) -> None:
    again = simulated.__wrapped__(workers, replicas)
    for name in EVERY:
        for one, other in zip(simulated(workers, replicas), again, strict=True):
            assert one[name]["events"] == other[name]["events"]
            assert one[name]["error"] == other[name]["error"]
            assert by_global_rank(one[name], 0) == by_global_rank(other[name], 0)


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "workers", "replicas"), PROCESSES)
def test_processes_come_to_what_a_simulated_cluster_comes_to(backend: str, workers: int, replicas: int) -> None:
    open_or_skip(backend).close()
    trace = Trace(root=program_folder(every_program))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = ss.sim.Cluster(workers, replicas).run(lambda strategy: run_program(every_program, strategy, trace))
    found = run_in_processes(every_program, backend, workers, ss.Semantics.TF1_15, TIMEOUT_S, replicas=replicas)
    different: list[str] = []
    for worker, (one, other) in enumerate(zip(expected, found, strict=True)):
        assert (one.error, other.error) == (None, None)
        left, right = [{path: bits(leaf) for path, leaf in outcome.leaves} for outcome in (one, other)]
        different += [f"worker {worker}, {path}" for path in left | right if left.get(path) != right.get(path)]
    assert different == []
