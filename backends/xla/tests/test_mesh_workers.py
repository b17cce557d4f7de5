"""Programs of a mesh in several processes: what agrees, and what is named where the processes differ.

Clauses: J-70, J-71, J-72, J-73, J-74.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from shares import one_in

import simstrategy as ss
from simstrategy.check.contents import Contents
from simstrategy.check.outcome import Outcome
from simstrategy.check.programs import load_program
from simstrategy.check.runs import Settings
from simstrategy.errors import InvalidArgument
from simstrategy.launch.matching import Finding
from simstrategy_xla.mesh_check import checking, program_jobs, runs
from simstrategy_xla.mesh_check.jobs import Found, Job, Run, Shard, Spread
from simstrategy_xla.mesh_check.processes import Processes
from simstrategy_xla.mesh_check.shards import copies_of
from simstrategy_xla.mesh_check.workers import runs as worker_runs
from simstrategy_xla.mesh_check.workers.joined import joined
from simstrategy_xla.mesh_check.workers.processes import start_workers

FOLDER = Path(__file__).parent / "mesh_programs_workers"


# What workers found, as one.


def spread(shape, *shards):
    return Spread(shape, np.dtype(np.float32), tuple(shards))


def rows_of(device, *values, size=4):
    first = device * len(values)
    data = np.float32(values)
    assert len(values) * 2 == size
    return Shard(device, (slice(first, first + len(values)),), data)


def copy_of(device, *values):
    return Shard(device, (slice(None),), np.float32(values))


def test_parts_are_put_together_as_often_as_there_are_copies_of_all():
    parts = spread((4,), rows_of(1, 3, 4), rows_of(0, 1, 2))
    assert [one.tolist() for one in copies_of(parts)] == [[1, 2, 3, 4]]
    copies = spread((2,), copy_of(1, 5, 6), copy_of(0, 1, 2))
    assert [one.tolist() for one in copies_of(copies)] == [[1, 2], [5, 6]]
    assert copies_of(spread((4,), rows_of(0, 1, 2))) == ()
    assert [one.tolist() for one in copies_of(spread((), Shard(0, (), np.float32(7))))] == [7]


def found(arrays, **values):
    leaves = [(path, np.empty(0, np.float32)) for path in arrays]
    leaves += [(path, np.asarray(value)) for path, value in values.items()]
    contents = Contents([], leaves, [*values], [], [])
    return Found(contents, {}, {}, frozenset(), None, (), (), ("float32",), "", None, None, arrays)


def test_arrays_of_all_processes_are_one_value_and_others_are_each_workers_own():
    workers = [
        found({"parts": spread((4,), rows_of(0, 1, 2)), "copies": spread((1,), copy_of(0, 8))}, same=3.0, own=0.0),
        found({"parts": spread((4,), rows_of(1, 3, 4)), "copies": spread((1,), copy_of(1, 9))}, same=3.0, own=1.0),
    ]
    one = Outcome((("own", np.asarray(0.5)),), None, ())
    outcome = joined(workers, one, (), (), diverged=False)
    assert {path: leaf.tolist() for path, leaf in outcome.leaves} == {
        "same": 3.0,
        "own of local replica 0": 0.0,
        "own of local replica 1": 1.0,
        "parts": [1, 2, 3, 4],
        "copies of local replica 0": [8],
        "copies of local replica 1": [9],
    }
    assert dict(outcome.structure)["copies"] == "Mirrored of 2"
    assert [kind.path for kind in outcome.variables] == ["copies"]
    assert [kind.path for kind in joined(workers, one, (), (), diverged=True).variables] == ["copies", "own"]
    alone = joined([workers[0], found({}, same=3.0, own=0.0)], one, (), (), diverged=False)
    assert ("parts of local replica 0", [1, 2]) in [(path, leaf.tolist()) for path, leaf in alone.leaves]
    assert dict(alone.structure)["parts"] == "PerReplica of 2"


# Processes.


class Kept:
    """What runs programs, and is not closed by a check."""

    def __init__(self, kept):
        self.run = kept.run

    def close(self):
        """Does nothing."""


@pytest.fixture(scope="module")
def started():
    """Processes from ones that have imported JAX, for all tests."""
    workers, processes = start_workers(), Processes()
    yield workers, processes
    workers.close()
    processes.close()


@pytest.fixture
def shared(started, monkeypatch):
    monkeypatch.setattr(worker_runs, "start_workers", lambda: Kept(started[0]))
    monkeypatch.setattr(program_jobs, "Processes", lambda: Kept(started[1]))
    monkeypatch.setattr(runs, "NUDGES", runs.NUDGES[:1])


def checked(name, file="wrong.py", workers=(2,), **settings):
    program = load_program(FOLDER / file, name)
    given = Settings(ss.Semantics.TF2, workers=workers, **settings)
    return checking.programs_agree(program, replicas=[workers[0]], settings=given)


def ran(started, name, count=2, timeout_s=60.0):
    run = Run({}, tuple(range(count)))
    return started[0].run(Job(str(FOLDER / "wrong.py"), name, ("data",), count, (run,)), count, timeout_s)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    "name",
    one_in(
        2,
        [
            *("fit", "of_parts", "many_ways", "with_metrics", "by_pmap", "first_alone_returns", "last_alone_returns"),
            "own_rows_of_a_whole_array",
        ],
    ),
)
def test_a_lawful_program_gives_in_two_processes_what_one_process_gives(name):
    report = checked(name, "lawful.py")
    assert report.agrees, str(report)
    assert [(row.law, row.backend, row.replicas) for row in report.rows] == [
        ("repeat", "jax", "2"),
        ("workers", "jax.distributed", "2 × 1"),
    ]
    if name == "with_metrics":
        assert "Not compared: result['mine']: each replica has a value of its own" in str(report)
        assert "result['only']: it is in the result of worker 0 alone" in str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
def test_three_processes_are_compared_with_three_devices_of_one():
    report = checked("of_parts", "lawful.py", workers=(3, 1))
    assert report.agrees, str(report)
    assert [row.replicas for row in report.rows if row.law == "workers"] == ["3 × 1", "1 × 1"]


CALLS = {
    "first_evaluates": (r"evaluate \(all-reduce MAX of 1 float32\) float32\[3\].* at wrong.py:\d+", r"step .*"),
    "other_order": (r"step \(all-reduce SUM of 3 float32\) float32\[3\], float32\[24,3\] at .*", r"evaluate .*"),
    "other_steps": (r"returned from the program", r"step .* at wrong.py:\d+"),
    "other_steps_compiled": (r"step .* at wrong.py:\d+", r"returned from the program"),
    "other_operations": (r"mul.* float32\[24,3\].* at wrong.py:\d+", r"_?reduce_sum .* at wrong.py:\d+"),
    "other_steps_of_pmap": (r"pmap \(all-reduce SUM of 3 float32\) .* at wrong.py:\d+", r"returned from the program"),
    "other_shapes": (r"step .* float32\[16,3\] at wrong.py:\d+", r"step .* float32\[14,3\] at wrong.py:\d+"),
    "other_collective": (
        r"combine \(all-reduce SUM .* at wrong.py:\d+",
        r"combine \(all-reduce MAX .* at wrong.py:\d+",
    ),
    "first_alone_on_all_devices": (r"_reduce_sum float32\[3\] at wrong.py:\d+", r"returned from the program"),
    "other_names": (r"step .* at wrong.py:\d+", r"sync_global_devices .* at wrong.py:\d+"),
    "out_of_a_helper": (r"process_allgather .* at wrong.py:\d+", r"returned from the program"),
    "one_returns": (r"step .* at wrong.py:\d+", r"returned from the program"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", one_in(2, CALLS))
def test_processes_that_run_other_computations_are_named_with_their_lines(name, started):
    found = ran(started, name)
    assert isinstance(found, Finding)
    assert found.kind == "ReplicasDisagree", found.text
    head, *lines = found.text.splitlines()
    assert head.startswith("Workers make different collective calls here.")
    for worker, (line, wanted) in enumerate(zip(lines, CALLS[name], strict=True)):
        assert re.fullmatch(rf"  worker {worker}: {wanted}", line), found.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        (
            "one_raises",
            "KeyError",
            r"'mine' \(in worker 1, KeyError raised at wrong.py:\d+\)\. The others wait:\n  worker 0: step",
        ),
        ("one_exits", "SystemExit", r"enough \(in worker 0, SystemExit raised at wrong.py:\d+\)"),
        ("one_is_killed", "PeerFailed", r"The process of worker 1 of 2 was killed by signal 9\."),
        ("one_ends", "PeerFailed", r"The process of worker 0 of 2 ended with exit code 3\."),
    ],
)
def test_a_process_that_leaves_the_others_alone_is_named(name, kind, text, started):
    found = ran(started, name)
    assert isinstance(found, Finding)
    assert found.kind == kind, found.text
    assert re.search(text, found.text), found.text


@pytest.mark.slow
def test_a_process_that_does_not_come_is_named_at_the_limit_and_nothing_is_left(started):
    workers, _ = started
    before = {*os.listdir("/proc")}
    found = ran(started, "one_sleeps", timeout_s=6.0)
    assert isinstance(found, Finding)
    assert found.kind == "time limit"
    assert re.search(r"worker 0: step .* at wrong.py:\d+\n  worker 1: has made no further call after step", found.text)
    own = {str(process) for process in (os.getpid(), workers.process)}
    assert not [one for one in {*os.listdir("/proc")} - before - own if one.isdecimal() and parent(one) in own]


def parent(process):
    try:
        return Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


RAISES = "one process gives a result; with a process for each it raises"

VALUES = {
    "own_parameters": (
        ["workers", "state"],
        [
            r"result of replica 1: .* against .*",
            r"jax.distributed, replicas 2 × 1, InOrder\(\): result must be equal on all replicas, and is not",
            r"Cause: step .* at wrong.py:\d+ is the first computation of all processes to which they bring",
            r"argument 1, float32\[3\], is replicated, and worker 1 has another copy than worker 0\.",
        ],
    ),
    "own_parameters_on_the_host": (
        ["workers"],
        [r"result\['weights'\]: on replica", r"Cause: step .* at wrong.py:\d+ is the first"],
    ),
    "own_large_parameters": (["workers"], [r"Cause: step .* at wrong.py:\d+ .* argument 1, float32\[1200,300\]"]),
    "own_parameters_after_own_rows": (
        ["workers"],
        [r"Cause: step .* unequal copies of a replicated value: argument 1, float32\[3\], is replicated"],
    ),
    "own_rows_as_all": (
        ["workers"],
        [r"argument 2, float32\[12,3\], is given whole by each process", r"jax.make_array_from_process_local_data"],
    ),
    "put_what_is_not_equal": (
        ["workers"],
        [
            f"{RAISES} AssertionError: .* passed to device_put is not the same on",
            r"… \(\d+ lines are left out\)",
            r" raised at wrong.py:\d+",
        ],
    ),
    "reads_what_others_have": (
        ["workers"],
        [
            f"{RAISES} RuntimeError: Fetching value for `jax.Array` that spans non-addressable",
            r" raised at wrong.py:\d+",
        ],
    ),
    "first_evaluates": (["workers"], [r"it raises ReplicasDisagree: .*worker 0: evaluate.*worker 1: step"]),
}


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", VALUES)
def test_a_mistake_that_one_process_does_not_show_is_a_finding(name):
    laws, texts = VALUES[name]
    report = checked(name)
    assert report.verdict == "differ", str(report)
    assert [one.law for one in report.findings] == laws, str(report)
    for text in texts:
        assert re.search(text, " ".join(str(report).split())), str(report)


@pytest.mark.slow
@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "first_alone_returns_its_own",
            r"result\['mean'\]: .* against .*; worker 0 alone returns it\. Return it in all",
        ),
        ("first_alone_returns_its_part", r"result\['rows'\]: .*\[12, 3\].*; worker 0 alone returns it\."),
    ],
)
def test_a_value_that_one_process_alone_returns_and_that_is_another_one_is_not_judged(name, text):
    report = checked(name)
    assert report.verdict == "undecided", str(report)
    assert re.search(text, str(report)), str(report)


def test_a_program_for_processes_is_a_function_of_a_file():
    def program(mesh: "jax.sharding.Mesh"):  # noqa: F821
        raise AssertionError("it is not run")

    with pytest.raises(InvalidArgument, match="Define it as a function at the top level of a file"):
        checking.programs_agree(program, replicas=[1], settings=Settings(ss.Semantics.TF2, workers=(2,)))
