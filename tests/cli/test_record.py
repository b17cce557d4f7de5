"""`simstrategy run --record`: the file, and what it needs of the program, the folder and the disk."""

import hashlib
import os

import pytest
from typer.testing import CliRunner

from simstrategy import trace
from simstrategy.cli.app import app_for

PROGRAM = """
import numpy as np, simstrategy as ss

def program(strategy):
    def step():
        context = ss.get_replica_context()
        total = context.all_reduce("SUM", np.float32(context.replica_id_in_sync_group))
        print("rank", context.replica_id_in_sync_group, "has", float(total))
        return total

    print("begins")
    return strategy.run(step)

def fails(strategy):
    strategy.run(lambda: 1 / 0)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command in a folder with the program; returns its exit code and what it printed, in one line."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)

    def command(*words):
        result = CliRunner().invoke(app_for(["run"]), ["run", "program.py", *words], env={"COLUMNS": "300"})
        return result.exit_code, " ".join(result.output.split())

    return command


def test_a_recording_has_its_header_values_prints_and_results(run, tmp_path):
    code, output = run("--replicas", "2", "--schedule", "seeded:1", "--record", "a.jsonl")
    assert code == 0
    assert "begins rank" in output
    found = trace.read("a.jsonl")
    assert found.complete
    source = {"file": "program.py", "sha256": hashlib.sha256((tmp_path / "program.py").read_bytes()).hexdigest()}
    source["text"] = PROGRAM
    expected = {"source": source, "replicas": 2, "order": "linear", "seed": 0, "profile": "TF1_15", "version": 2}
    assert expected.items() <= found.header.items()
    assert found.header["command"].endswith("--schedule seeded:1 --function program")
    assert [(one.replica, one.text) for one in found.prints] == [
        (None, "begins\n"),
        *((rank, f"rank {rank} has 1.0\n") for rank in (one.replica for one in found.prints[1:])),
    ]
    assert {one.replica for one in found.prints[1:]} == {0, 1}
    assert [path for path, _ in found.results[0].leaves] == [
        "result of local replica 0",
        "result of local replica 1",
    ]
    assert run("--replicas", "2", "--schedule", "seeded:1", "--record", "b.jsonl")[0] == 0
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_simulated_workers_are_in_one_recording(run):
    assert run("--workers", "2", "--record", "a.jsonl")[0] == 0
    found = trace.read("a.jsonl")
    assert [(one.worker, one.replica) for one in found.prints] == [(0, None), (1, None), (0, 0), (1, 1)]
    assert [result.worker for result in found.results] == [0, 1]


def test_a_program_that_raises_is_recorded_to_its_end(run):
    code, output = run("--function", "fails", "--record", "a.jsonl")
    assert code == 1
    assert "ZeroDivisionError" in output
    found = trace.read("a.jsonl")
    assert found.complete
    assert found.results[0].error == ("ZeroDivisionError", "division by zero")


def test_what_cannot_be_written_is_refused_and_results_are_shown_before(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for file, text in (
        ("missing/a.jsonl", "/missing' to write a.jsonl"),
        ("pipe", "pipe' is a pipe or a socket"),
        (".", "' is a folder"),
        ("program.py", "program.py' is the program"),
    ):
        code, output = run("--record", file)
        assert code == 2
        assert "--record: " in output
        assert text in output
        assert "begins" not in output
    assert (tmp_path / "program.py").read_text() == PROGRAM
    if os.path.exists("/dev/full"):
        code, output = run("--record", "/dev/full")
        assert code == 2
        assert "result: float32[] = 0.0" in output
        assert "No space left on device" in output


def test_real_processes_are_refused_in_words(run):
    pytest.importorskip("torch")
    code, output = run("--backend", "gloo", "--workers", "2", "--record", "a.jsonl")
    assert code == 2
    assert "--record is for replicas in one process and for simulated workers" in output


def recomputed(*words):
    result = CliRunner().invoke(app_for(["recompute"]), ["recompute", *words], env={"COLUMNS": "300"})
    return result.exit_code, " ".join(result.output.split())


def test_a_recording_is_computed_again_and_its_program_compared(run, tmp_path):
    run("--replicas", "3", "--record", "a.jsonl")
    code, output = recomputed("a.jsonl", "--program", "program.py")
    assert code == 0
    assert "1 of 2 synchronisation points computed again and equal to the bit, 0 differ" in output
    (tmp_path / "program.py").write_text(PROGRAM + "# another")
    code, output = recomputed("a.jsonl", "--program", "program.py")
    assert code == 2
    assert "program.py is not the program that was recorded" in output


def test_a_recording_that_is_cut_off_changed_or_newer_has_its_verdict(run, tmp_path):
    run("--replicas", "3", "--record", "a.jsonl")
    file = tmp_path / "a.jsonl"
    text = file.read_text()
    file.write_text(text[:-5])
    code, output = recomputed("a.jsonl")
    assert code == 2
    assert "a.jsonl has no end" in output
    # A total that does not follow from what the replicas brought: 3.0 in place of 1.0, which rank 1 brought.
    file.write_text(text.replace('"out":[[3],[3],[3]]', '"out":[[1],[1],[1]]'))
    code, output = recomputed("a.jsonl")
    assert code == 1
    assert (
        "DIFFERS: point 2, all_reduce at program.py:7: leaf 0 of local replica 0 is array(1., dtype=float32)" in output
    )
    file.write_text(text.replace('"version":2', '"version":9'))
    code, output = recomputed("a.jsonl")
    assert code == 2
    assert "is a recording of version 9" in output
    code, output = recomputed("missing.jsonl")
    assert code == 2
    assert "missing.jsonl cannot be read: No such file" in output
    run("--function", "fails", "--record", "b.jsonl")
    assert recomputed("b.jsonl")[0] == 2
