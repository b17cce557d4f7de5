"""`check --keras`: one report of a file that runs once with each library, in processes of their own.

Clauses: J-75.
"""

import json
import subprocess
import sys

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for

PROGRAM = """
import os

import simstrategy as ss

LIBRARY = os.environ["KERAS_BACKEND"]
print("what the program prints")

def program(strategy: ss.Strategy):
    ones = strategy.run(lambda: strategy.xp.ones((2,)))
    return strategy.reduce({"tensorflow": "MEAN", "jax": "SUM"}[LIBRARY], ones, axis=None)
"""
BOTH = ("--keras", "tensorflow,jax", "--replicas", "1,2")


def checked(folder, *options, program=PROGRAM):
    (folder / "train.py").write_text(program)
    words = ["check", str(folder / "train.py"), f"--json={folder / 'report.json'}", *options]
    done = CliRunner().invoke(app_for(words), words)
    file = folder / "report.json"
    return done, json.loads(file.read_text()) if file.exists() else None


def test_each_library_has_its_rows_and_its_verdict(tmp_path):
    done, data = checked(tmp_path, *BOTH)
    assert done.exit_code == 1
    states = [(row["backend"], row["replicas"], row["state"]) for row in data["rows"]]
    for name, verdict in (("tensorflow", "agrees"), ("jax", "differs")):
        assert (f"{name}: sim", "1", "reference") in states
        assert (f"{name}: sim", "2 against 1", verdict) in states
    assert {finding["backend"] for finding in data["findings"]} == {"jax: sim"}
    assert "jax: sim, replicas 2 against 1" in done.output
    assert "what Keras computes on one is not compared with another" in done.output
    assert (
        "tensorflow: No step of a distributed dataset"
        in {one["word"]: one["text"] for one in data["not_tried"]}["uneven"]
    )
    assert "what the program prints" not in done.output


def test_one_library_is_judged_as_the_command_without_the_option_judges_it(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    _, alone = checked(tmp_path, "--replicas", "1,2,3", "--laws", "order")
    _, named = checked(tmp_path, "--replicas", "1,2,3", "--laws", "order", "--keras", "tensorflow")
    for row in alone["rows"]:
        row["backend"] = f"tensorflow: {row['backend']}"
    assert named["rows"] == alone["rows"]
    assert named["verdict"] == alone["verdict"] == "agree"


def test_a_library_whose_program_does_not_run_is_not_judged_and_the_others_are(tmp_path):
    absent = "if LIBRARY == 'jax':\n    import absent_library"
    done, data = checked(tmp_path, "--keras", "jax,tensorflow", "--replicas", "1,2", program=f"{PROGRAM}\n{absent}\n")
    assert done.exit_code == 2
    first, *others = data["rows"]
    assert (first["backend"], first["replicas"], first["state"], first["compared"]) == (
        "jax: none",
        "1,2",
        "undecided",
        0,
    )
    assert "absent_library" in first["undecided"]
    assert {row["state"] for row in others} == {"reference", "agrees"}
    assert "it did not run" in done.output


@pytest.mark.deep
def test_a_program_that_no_library_loads_is_not_accused_of_using_nothing(tmp_path):
    done, data = checked(tmp_path, "--keras", "jax,torch", program="")
    assert (done.exit_code, data["verdict"]) == (2, "undecided")
    (tmp_path / "train.py").unlink()
    done = CliRunner().invoke(app_for(["check"]), ["check", str(tmp_path / "train.py"), "--keras", "jax,tensorflow"])
    assert done.exit_code == 2
    assert "There is no file at" in done.output
    assert "used nothing" not in done.output


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--keras", "thean"], "--keras 'thean'"),
        (["--keras", "jax", "--as", "torchrun"], "leave out --as torchrun"),
    ],
)
def test_a_wrong_name_or_a_launcher_beside_it_is_a_clear_error(tmp_path, options, text):
    done, data = checked(tmp_path, *options)
    assert (done.exit_code, data) == (2, None)
    assert text in done.output


@pytest.mark.deep
def test_arguments_after_two_dashes_are_those_of_the_script(tmp_path):
    (tmp_path / "train.py").write_text(
        "import os, sys\nif os.environ['KERAS_BACKEND'] == 'torch':\n    sys.exit(f'given {sys.argv[1:]}')\n"
    )
    words = ["check", "train.py", "--keras", "torch", "--replicas", "1,2", "--", "--batch-size", "{8//replicas}"]
    command = [sys.executable, "-m", "simstrategy", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "given ['--batch-size', '8']" in done.stdout
