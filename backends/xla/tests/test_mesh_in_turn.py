"""Two groups of runs in one process give what they give in processes of their own.

Clauses: J-57, J-58.
"""

from contextlib import closing

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shares import one_in
from test_mesh_check import program_of

import simstrategy as ss
from simstrategy.check.runs import Settings
from simstrategy_xla.mesh_check.jobs import Found, digest_of
from simstrategy_xla.mesh_check.lowering import Rules
from simstrategy_xla.mesh_check.processes import Failure, Processes
from simstrategy_xla.mesh_check.program_jobs import ProgramJobs, watched
from simstrategy_xla.mesh_check.records import Records, moved_runs
from simstrategy_xla.mesh_check.watching import Watch

USUAL = """
@jax.jit
def step(rows):
    return jnp.tanh(rows).sum(0)

def program(mesh: Mesh):
    return step(ROWS)
"""

KEPT = """
KEPT = {}

def program(mesh: Mesh):
    if not KEPT:
        KEPT["step"] = jax.jit(lambda rows: jnp.tanh(rows).sum(0)).lower(ROWS).compile()
    return KEPT["step"](ROWS)
"""

KEPT_BY_THE_FILE = """
STEP = jax.jit(lambda rows: jnp.tanh(rows).sum(0)).lower(ROWS).compile()

def program(mesh: Mesh):
    return STEP(ROWS)
"""

IN_PARTS = """
@jax.jit
def step(rows):
    parts = rows / 3
    return parts - jnp.exp(parts).sum(0), parts @ jnp.ones((3, 2)), parts.sum()

def program(mesh: Mesh):
    return step(jax.device_put(ROWS, NamedSharding(mesh, P("data"))))
"""

ENDS = """
import os
RUNS = []

def program(mesh: Mesh):
    RUNS.append(1)
    if len(RUNS) == {last}:
        os._exit(3)
    return jnp.tanh(ROWS).sum(0)
"""


WAITS = """
import time
RUNS = []

def program(mesh: Mesh):
    RUNS.append(1)
    time.sleep(60 if len(RUNS) == {last} else 2)
    return ROWS
"""


@pytest.fixture
def processes(monkeypatch):
    """The runs of each process that was started."""
    runs = []
    plain = Processes.run

    def noted(self, job, timeout_s):
        runs.append(len(job.runs))
        return plain(self, job, timeout_s)

    monkeypatch.setattr(Processes, "run", noted)
    return runs


def in_turn(tmp_path, text, first, *, nudges):
    """Returns what `first` equal runs gave, and further ones that are nudged."""
    with closing(ProgramJobs(program_of(tmp_path, text), ("data",), Settings())) as jobs:
        run = jobs.run(2)
        return jobs.made_in_turn([run] * first, [run._replace(nudge=one) for one in nudges])


def value(found):
    assert isinstance(found, Found), found
    return dict(found.contents.leaves)["result"].tobytes()


@pytest.mark.parametrize(
    ("text", "started"),
    [
        pytest.param(USUAL, [4], id="compiled by jax.jit"),
        pytest.param(KEPT, [4, 2], id="kept compiled by the run"),
    ],
)
def test_nudged_runs_after_others_move_in_ways_of_their_own(tmp_path, processes, text, started):
    (one, again), moved = in_turn(tmp_path, text, 2, nudges=(1, 2))
    assert value(one) == value(again)
    assert len({value(one), *map(value, moved)}) == 3
    assert processes == started


@pytest.mark.parametrize("lines", [False, True], ids=["as it is", "recorded"])
def test_moved_runs_leave_arrays_in_the_parts_that_devices_have(tmp_path, lines):
    with closing(ProgramJobs(program_of(tmp_path, IN_PARTS), ("data",), Settings())) as jobs:
        plain = jobs.run(3)
        moved = (*moved_runs(plain, zeros=True), plain._replace(nudge=3))
        one, *others = jobs.made(*[watched(run, lines=True) if lines else run for run in (plain, *moved)])
    assert one.copies
    for other in others:
        assert (other.copies, other.by_device) == (one.copies, one.by_device)
        for (path, leaf), (same, after) in zip(one.contents.leaves, other.contents.leaves, strict=True):
            assert path == same
            assert leaf.tobytes() != after.tobytes()
            np.testing.assert_allclose(after, leaf, rtol=1e-5)


def test_moved_runs_of_a_reference_are_moved_where_the_program_keeps_compiled_functions(tmp_path, processes):
    with closing(ProgramJobs(program_of(tmp_path, KEPT), ("data",), Settings())) as jobs:
        run = jobs.run(2)
        found = jobs.recorded(run, *moved_runs(run, zeros=True), lines=True)
    assert len(set(map(value, found))) == 3
    assert processes == [3, 1, 1, 1]


@pytest.mark.parametrize(("text", "started"), [(USUAL, [2]), (KEPT, [2, 1]), (KEPT_BY_THE_FILE, [2, 1])])
@pytest.mark.parametrize("lines", one_in(2, [True, False]))
def test_a_run_after_a_watched_one_gives_what_one_alone_gives(tmp_path, processes, text, started, lines):
    with closing(ProgramJobs(program_of(tmp_path, text), ("data",), Settings())) as jobs:
        (recorded,), (plain,) = jobs.made_in_turn([watched(jobs.run(2), lines=lines)], [jobs.run(2)])
        assert processes == started
        (alone,) = jobs.made(jobs.run(2))
    assert bool(recorded.record.sites) == lines
    assert plain.record is None
    assert digest_of(plain) == digest_of(alone)


def test_what_is_compiled_after_a_watch_was_closed_is_not_recorded():
    rules = Rules()
    recorded = []
    for closes in (False, True):
        watch = Watch(rules, lines=True)
        if closes:
            watch.close()
        jax.block_until_ready(jax.jit(lambda rows: jnp.tanh(rows) + 1)(np.ones(3, np.float32)))
        jax.effects_barrier()
        recorded.append(len(watch.record().sites))
        watch.close()
    assert recorded == [2, 0]


@pytest.mark.parametrize(("size", "is_kept"), [(1 << 16, True), ((1 << 16) + 1, False)])
def test_values_of_lines_are_kept_up_to_a_quarter_of_a_mebibyte(size, is_kept):
    rules = Rules()
    watch = Watch(rules, lines=True)
    jax.block_until_ready(jax.jit(lambda rows: jnp.tanh(rows) * 2)(np.ones(size, np.float32)))
    jax.effects_barrier()
    found = [moment.values[0].size for moment in watch.record().moments]
    watch.close()
    assert found == ([size, size] if is_kept else [])


COUNTED = """
def program(mesh: Mesh):
    with open({runs!r}, "a") as file:
        print("run", file=file)
    return jnp.tanh(ROWS).sum(0), {value}
"""


@pytest.mark.parametrize(
    ("value", "others", "made"),
    [
        pytest.param("0", {}, 2, id="the recorded run gives what the first one did"),
        pytest.param("0", {"printed": "a line"}, 3, id="it gives something else, as where XLA rounds otherwise"),
        pytest.param("__import__('os').getpid()", {}, 3, id="each process gives something else"),
    ],
)
def test_the_second_run_of_a_number_is_its_recorded_one_where_that_gives_the_same(tmp_path, value, others, made):
    runs = tmp_path / "runs"
    program = program_of(tmp_path, COUNTED.format(runs=str(runs), value=value))
    with closing(ProgramJobs(program, ("data",), Settings())) as jobs:
        (first,) = jobs.made(jobs.run(2))
        again = Records(program, jobs, {2: first._replace(**others)}).again(2)
    assert len(runs.read_text().splitlines()) == made
    assert again.record is None
    assert (digest_of(again) == digest_of(first)) == (value == "0")


@pytest.mark.parametrize(
    ("last", "failed", "started"),
    [
        pytest.param(1, (True, True), [3], id="the first run ends its process"),
        pytest.param(2, (True, True), [3], id="the second run does"),
        pytest.param(3, (False, False), [3, 2, 1], id="the third run does"),
    ],
)
def test_a_process_that_ends_gives_what_two_processes_give(tmp_path, processes, last, failed, started):
    groups = in_turn(tmp_path, ENDS.format(last=last), 2, nudges=[1])
    assert tuple(any(isinstance(one, Failure) for one in group) for group in groups) == failed
    assert [len(group) for group in groups] == [2, 1]
    assert processes == started


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("last", [3, 0])
def test_the_time_limit_is_that_of_each_run(tmp_path, last):
    with closing(
        ProgramJobs(program_of(tmp_path, WAITS.format(last=last)), ("data",), Settings(timeout_s=8.0))
    ) as jobs:
        found = jobs.made(*[jobs.run(1)] * 5)
    ended = [one._replace(output="") for one in found if isinstance(one, Failure)]
    assert ended == ([Failure("time limit", "", 2)] * 5 if last else [])


def test_lines_are_recorded_no_more_once_a_process_that_records_them_has_ended(tmp_path, monkeypatch):
    watched_in = []
    plain = Processes.run

    def ended(self, job, timeout_s):
        ways = {run.watched for run in job.runs}
        watched_in.append(max(ways))
        return Failure("signal 6", "") if "lines" in ways else plain(self, job, timeout_s)

    monkeypatch.setattr(Processes, "run", ended)
    text = USUAL.replace("step(ROWS)", "mesh.size * step(ROWS)")
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2, 3])
    assert [row.replicas for row in report.findings] == ["2 against 1", "3 against 1"]
    assert watched_in == ["", "", "", "lines", "calls", "calls", "calls"]


def test_a_number_whose_process_ends_runs_twice_and_is_not_recorded(tmp_path, processes):
    text = ENDS.format(last="mesh.size - 1")  # the first run on two devices, and none on one
    report = ss.check(program_of(tmp_path, text), replicas=[1, 2])
    assert report.verdict == "differ"
    assert "exit code 3" in str(report)
    assert processes == [5, 1, 1]


def test_what_ends_without_a_record_is_not_run_for_one(tmp_path, processes):
    program = program_of(tmp_path, ENDS.format(last=1))
    with closing(ProgramJobs(program, ("data",), Settings())) as jobs:
        records = Records(program, jobs, {2: Failure("exit code 3", "")})
        assert records.again(2).kind == "exit code 3"
        assert records.diverged(2) == {}
    assert processes == [1]


def test_a_check_of_several_numbers_starts_a_process_for_each(tmp_path, processes):
    assert ss.check(program_of(tmp_path, USUAL), replicas=[1, 2, 3]).agrees
    assert processes == [5, 1, 1]


def test_a_number_that_differs_runs_again_in_the_process_of_its_record(tmp_path, processes):
    report = ss.check(program_of(tmp_path, USUAL.replace("step(ROWS)", "mesh.size * step(ROWS)")), replicas=[1, 2])
    assert report.verdict == "differ"
    assert [row.replicas for row in report.rows if row.law == "repeat"] == ["1", "2"]
    assert processes == [5, 1, 2, 3]
