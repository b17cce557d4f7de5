"""Programs in real processes: the same trace as simulated, failures with their output, and nothing left behind."""

# Clauses: K-1, K-2

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check.outcome import run_program
from simstrategy.check.processes import load_outcome, run_in_processes, save_outcome
from simstrategy.errors import InvalidArgument, PeerFailed
from simstrategy.strategy import Semantics, group_of
from simstrategy.trace import Trace, first_difference

LIMIT_S = 20.0


def several_workers(strategy: ss.Strategy) -> Any:
    """Touches all that crosses processes: initial values, roles, data to the last worker's end, reductions."""
    worker = group_of(strategy).coordinator.worker
    with strategy.scope():
        weights = ss.Variable(np.float32([worker, 1]), aggregation=ss.VariableAggregation.SUM, name="weights")
        seen = ss.Variable(
            np.float32(0),
            synchronization=ss.VariableSynchronization.ON_READ,
            aggregation=ss.VariableAggregation.SUM,
            name="seen",
        )

    def step(batch: Any) -> Any:
        context = ss.get_replica_context()
        assert context is not None
        weights.assign_add(context.xp.asarray(np.float32([1, 2])))
        seen.assign_add(context.xp.sum(batch))
        return context.all_reduce("SUM", context.xp.sum(batch)), context.all_gather(batch, axis=0)

    def longer_on_worker_1(context: ss.InputContext) -> ss.data.Dataset:
        return ss.data.Dataset.range(2 + context.input_pipeline_id).map(lambda x: np.float32([x]))

    even = strategy.experimental_distribute_dataset(ss.data.Dataset.range(7).map(np.float32).batch(3))
    uneven = strategy.distribute_datasets_from_function(longer_on_worker_1)
    results: list[Any] = [strategy.run(step, args=(batch,)) for batch in even]
    results += [strategy.reduce("SUM", strategy.run(lambda one: one, args=(batch,)), axis=0) for batch in uneven]
    roles = [int(strategy.extended.should_checkpoint), int(strategy.extended.should_save_summary)]
    return results, weights.numpy(), seen.read_value(), roles, strategy.experimental_local_results(results[-1])


def dies(strategy: ss.Strategy) -> None:
    sys.stdout.write("about to end\n")
    sys.stdout.flush()
    os._exit(3)


def never_ends(strategy: ss.Strategy) -> None:
    (Path(os.environ["WHERE_WORKERS_ARE"]) / str(os.getpid())).touch()
    select.select([], [], [])


def simulated(workers: int) -> tuple[Any, ...]:
    trace = Trace(root=str(Path(__file__).parent))
    cluster = ss.sim.Cluster(workers, 1, trace=trace)
    return cluster.run(lambda strategy: run_program(several_workers, strategy, trace))


@pytest.fixture(scope="module")
def real() -> tuple[Any, ...]:
    return run_in_processes(several_workers, "gloo", 2, Semantics.TF1_15, 60.0)


@pytest.mark.slow
def test_workers_come_to_the_same_simulated_and_real(real: Any) -> None:
    for one, other in zip(simulated(2), real, strict=True):
        assert [path for path, _ in one.leaves] == [path for path, _ in other.leaves]
        for (path, left), (_, right) in zip(one.leaves, other.leaves, strict=True):
            assert (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes()), path


@pytest.mark.slow
def test_the_first_worker_begins_all_and_has_the_chiefs_roles(real: Any) -> None:
    values = [dict(one.leaves) for one in real]
    assert [one["result[1]"].tolist() for one in values] == [[6, 13]] * 2  # from [0, 1]: worker 0's
    assert [[int(one[f"result[3][{index}]"]) for index in range(2)] for one in values] == [[1, 1], [0, 0]]
    assert [float(one["result[2]"]) for one in values] == [21, 21]  # of both workers' parts


@pytest.mark.slow
def test_traces_are_equal_and_every_edited_event_is_found(real: Any) -> None:
    for one, other in zip(simulated(2), real, strict=True):
        assert len(one.events) >= 20
        assert first_difference(one.events, other.events) is None
        for index, event in enumerate(other.events):
            edited = [*other.events]
            edited[index] = event._replace(kind="edited")
            assert first_difference(one.events, edited) is not None
        assert first_difference(one.events, other.events[:-1]) is not None


@pytest.mark.slow
def test_outcomes_survive_their_files(real: Any, tmp_path: Path) -> None:
    save_outcome(real[0], tmp_path / "one")
    again = load_outcome(tmp_path / "one")
    assert again[1:] == real[0][1:]
    assert all(np.array_equal(left, right) for (_, left), (_, right) in zip(again.leaves, real[0].leaves, strict=True))


@pytest.mark.slow
def test_a_process_that_dies_is_told_with_the_end_of_its_output() -> None:
    with pytest.raises(PeerFailed, match=r"Worker \d of 2 ended with exit code 3[^$]*about to end"):
        run_in_processes(dies, "gloo", 2, Semantics.TF1_15, 60.0)


@pytest.mark.slow
def test_time_is_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WHERE_WORKERS_ARE", str(tmp_path))
    with pytest.raises(PeerFailed, match=r"Worker 0 of 2 did not end in 3 s and was killed"):
        run_in_processes(never_ends, "gloo", 2, Semantics.TF1_15, 3.0)


def test_what_cannot_be_started_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="top level of a file"):
        run_in_processes(lambda strategy: 1, "gloo", 2, Semantics.TF1_15, 60.0)
    with pytest.raises(InvalidArgument, match="above 0"):
        run_in_processes(dies, "gloo", 2, Semantics.TF1_15, 0.0)
    monkeypatch.setenv("SIMSTRATEGY_IN_WORKER", "1")
    with pytest.raises(InvalidArgument, match="start other workers"):
        run_in_processes(dies, "gloo", 2, Semantics.TF1_15, 60.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", [signal.SIGKILL, *[pytest.param(one, marks=pytest.mark.deep) for one in (signal.SIGTERM, signal.SIGINT)]]
)
def test_however_the_command_ends_no_worker_is_left(tmp_path: Path, number: int) -> None:
    workers = tmp_path / "workers"
    workers.mkdir()
    environment = os.environ | {"WHERE_WORKERS_ARE": str(workers), "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "simstrategy", "run", __file__, "--function", "never_ends"]
    command += ["--backend", "gloo", "--workers", "2"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        started = _await_files(workers, 2)
        process.send_signal(number)
        process.wait(LIMIT_S)
    for worker in started:
        try:
            handle = os.pidfd_open(worker)
        except ProcessLookupError:
            continue
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        assert poll.poll(LIMIT_S * 1000), "a worker is left"
        os.close(handle)
    _await_gone(tmp_path, "simstrategy-*")


def _await_files(folder: Path, count: int) -> list[int]:
    pause = select.poll()
    for _ in range(int(LIMIT_S * 100)):
        found = [int(file.name) for file in folder.iterdir()]
        if len(found) == count:
            return found
        pause.poll(10)
    raise AssertionError("the workers did not start")


def _await_gone(folder: Path, pattern: str) -> None:
    pause = select.poll()
    for _ in range(int(LIMIT_S * 100)):
        if not list(folder.glob(pattern)):
            return
        pause.poll(10)
    raise AssertionError(f"{list(folder.glob(pattern))} is left")
