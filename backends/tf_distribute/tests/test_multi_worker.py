"""Programs in processes under the real MultiWorkerMirroredStrategy: what agrees, and what is named where they differ.

Clauses: J-44, J-45, J-46, J-47, J-48.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worker_programs

import simstrategy as ss
from simstrategy.check.runs import Settings
from simstrategy.errors import InvalidArgument, Unsupported
from simstrategy.launch.matching import Finding
from simstrategy.launch.together import Workers
from simstrategy_tf_distribute import replicas_agree, runs
from simstrategy_tf_distribute.multi_worker import runs as worker_runs
from simstrategy_tf_distribute.multi_worker.jobs import Heard, Job
from simstrategy_tf_distribute.multi_worker.merging import recording_of
from simstrategy_tf_distribute.multi_worker.processes import start_workers

FILE = Path(worker_programs.__file__)


def test_a_recording_of_workers_has_the_values_of_all_in_every_step() -> None:
    def heard(worker: int) -> list[Heard]:
        site, rows = ("train.py", 30), np.ones((2, 1), np.float32)
        term, form = np.float32([worker]), ((1,), "float32")
        return [
            Heard("started", ((rows,), site, None)),
            Heard("sent", ("all_reduce", "SUM", site, "w", form, (term,))),
            Heard("wrote", (0, "w", "assign_sub", term, site)),
        ]

    found = recording_of([heard(0), heard(3)], "")
    (point,) = [one for one in found.points if one.kind == "all_reduce"]
    assert [row[0].array.tolist() for row in point.inputs if row[0].array is not None] == [[0], [3]]
    assert point.outputs[0][0].array == 3
    assert [one.rows for one in found.parts] == [((0, 2), (2, 2))]
    assert [(one.replica, one.step) for one in found.writes] == [(0, 1), (1, 1)]


# Processes.


@pytest.fixture(scope="module")
def started() -> Iterator[Workers]:
    """Processes from one that has imported TensorFlow, for all tests."""
    workers = start_workers()
    yield workers
    workers.close()


class Kept:
    """Workers that a check does not close."""

    def __init__(self, workers: Workers) -> None:
        self.run = workers.run

    def close(self) -> None:
        """Does nothing."""


@pytest.fixture
def shared(started: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_runs, "start_workers", lambda: Kept(started))
    monkeypatch.setattr(runs, "_NUDGES", (1,))


def checked(program: Any, **settings: Any) -> Any:
    given = Settings(ss.Semantics.TF2, workers=(2,), **settings)
    return replicas_agree(program, replicas=[2], settings=given)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_a_lawful_program_gives_in_two_processes_what_one_process_gives() -> None:
    report = checked(worker_programs.of_the_whole_batch)
    assert report.agrees, str(report)
    assert [(row.law, row.backend, row.replicas) for row in report.rows] == [
        ("repeat", "MirroredStrategy", "2"),
        ("workers", "MultiWorkerMirroredStrategy", "2 × 1"),
    ]
    assert "Not compared: result['only']: it is in the result of worker 0 alone" in str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    "name", ["makes_variables_in_its_first_step", "trains_by_keras", "first_value_of_a_host_function"]
)
def test_variables_that_a_traced_function_makes_get_their_first_values(name: str) -> None:
    report = checked(vars(worker_programs)[name], timeout_s=60.0)
    assert report.agrees, str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_a_function_that_xla_compiles_is_compared_by_its_results_alone() -> None:
    report = checked(worker_programs.compiled_by_xla)
    assert report.agrees, str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("name", "law", "text"),
    [
        (
            "first_worker_reduces",
            "workers",
            r"\n  worker 0: all_reduce SUM float32\[\] at worker_programs.py:.*\n  worker 1: reduce SUM float32\[\] at",
        ),
        ("batch_of_each_worker", "workers", r"in step 1, .* at worker_programs.py:\d+ differs first"),
        ("weights_of_each_worker", "state", r"'w' must be equal on all replicas.* on replica 0 and .* on replica 1"),
        ("weights_of_each_worker", "state", r"'w' is left unequal first by assign at w.*:\d+, before the first run"),
        (
            "adds_on_one_worker",
            "state",
            r"'other' is written on replica 1 alone, first by assign_add at w.*:\d+, in run 1",
        ),
        ("adds_on_one_worker", "state", r"'w' is left unequal first by assign_add at worker_programs.py:\d+, in run 1"),
        (
            "adds_its_number",
            "state",
            r"'other' is left unequal first by assign_add at worker_programs.py:\d+, in run 1",
        ),
    ],
)
def test_a_mistake_of_workers_is_named(name: str, law: str, text: str) -> None:
    report = checked(vars(worker_programs)[name])
    assert report.verdict == "differ", str(report)
    assert law in [one.law for one in report.findings], str(report)
    assert re.search(text, str(report)), str(report)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("one_raises", "KeyError", r"'mine' \(in worker 1, .*worker_programs.py:\d+.*\)"),
        ("one_is_killed", "PeerFailed", r"The process of worker 1 of 2 was killed by signal 9\."),
        (
            "other_shapes",
            "ReplicasDisagree",
            r"worker 0: all_reduce SUM float32\[2\] .*\n.*SUM float32\[3\] at worker_",
        ),
        (
            "first_worker_makes_variables_in_its_first_step",
            "ReplicasDisagree",
            r"worker 0: first value of a variable float32\[3\] at .*\n  worker 1: all_reduce SUM float32\[3\] at w",
        ),
        ("first_worker_saves", "ReplicasDisagree", r"reduce SUM float32\[\] .*\n  worker 1: returned from the program"),
    ],
)
def test_a_worker_that_leaves_the_others_alone_is_named(name: str, kind: str, text: str, started: Workers) -> None:
    found = started.run(Job(str(FILE), name, 0), 2, 60.0)
    assert isinstance(found, Finding)
    assert found.kind == kind
    assert re.search(text, found.text), found.text


@pytest.mark.slow
def test_a_worker_that_does_not_come_is_named_at_the_limit_and_nothing_is_left(started: Workers) -> None:
    before = {*os.listdir("/proc")}
    found = started.run(Job(str(FILE), "one_sleeps", 0), 2, 4.0)
    assert isinstance(found, Finding)
    assert found.kind == "time limit"
    assert re.search(r"worker 1: has (made no further call|not connected)", found.text), found.text
    own = {str(process) for process in (os.getpid(), started.process)}
    assert not [one for one in {*os.listdir("/proc")} - before - own if one.isdecimal() and _parent(one) in own]


def _parent(process: str) -> str:
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def test_a_program_for_workers_is_a_function_of_a_file_and_one_of_their_strategy_needs_workers() -> None:
    with pytest.raises(InvalidArgument, match="Define it as a function at the top level of a file"):
        checked(lambda strategy: 1.0)

    def program(strategy: "tf.distribute.MultiWorkerMirroredStrategy") -> Any:  # type: ignore[name-defined]  # noqa: F821
        raise AssertionError("it is not run")

    with pytest.raises(Unsupported, match=r"which runs in several processes\. Give numbers of them"):
        replicas_agree(program, replicas=[1])
