"""The command line: exit codes, what it prints, and how mistakes are told."""

import subprocess
import sys

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app
from simstrategy.cli.options import numbers, schedule_maker, semantics_named, words
from simstrategy.device import INSTALL_HINTS
from simstrategy.schedules import InOrder, Seeded
from simstrategy.strategy import Semantics
from simstrategy.trace import Trace

LESSON = """
import numpy as np
import simstrategy as ss
from simstrategy.strategy import group_of

def program(strategy):
    with strategy.scope():
        ss.Variable(1.0, name="w")
    return {"sum": strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32([1, 2])))}

def raising(strategy):
    raise KeyError("mine")

def replicas(strategy):
    return strategy.num_replicas_in_sync

def unlike(strategy):
    unlike.calls += 1
    return np.float32(unlike.calls if group_of(strategy).settings.schedule.name != "InOrder()" else 1)
unlike.calls = 100

def profile(strategy):
    return group_of(strategy).semantics.name
"""


@pytest.fixture
def lesson(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "lesson.py"
    file.write_text(LESSON)
    yield str(file)
    sys.modules.pop("simstrategy_program_lesson", None)


def call(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def test_check_of_a_program_that_agrees_ends_with_0_and_a_table(lesson):
    result = call("check", lesson, "--replicas", "1,2", "--schedules", "in-order,seeded:3")
    assert result.exit_code == 0
    assert "check of lesson.py" in result.stdout
    assert "equal to the bit" in result.stdout
    assert "Seeded(3)" in result.stdout
    assert "All runs agree." in result.stdout


def test_check_of_a_program_that_differs_ends_with_1_and_the_first_difference(lesson):
    result = call("check", lesson, "--function", "unlike", "--replicas", "2", "--schedules", "seeded:3")
    assert result.exit_code == 1
    assert "DIFFERS" in result.stdout
    assert "sim, replicas 2, Seeded(3): result: 1.0 against" in result.stdout
    assert "Not all runs agree." in result.stdout


def test_check_of_a_program_that_raises_ends_with_1_unless_errors_are_allowed(lesson):
    arguments = ("check", lesson, "--function", "raising", "--schedules", "seeded:1")
    refused, allowed = call(*arguments), call(*arguments, "--allow-errors")
    assert (refused.exit_code, allowed.exit_code) == (1, 0)
    assert "FAILED" in refused.stdout
    assert "raises the same" in allowed.stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--replicas", "1,two"], "is no list of numbers such as 1,2,4"),
        (["--replicas", "0"], "every number has to be at least 1"),
        (["--workers", "-1"], "every number has to be at least 1"),
        (["--schedules", "random"], "is no schedule: write in-order, or"),
        (["--schedules", "seeded:x"], "is no schedule"),
        (["--schedules", "in-order:3"], "is no schedule"),
        (["--semantics", "TF3"], "is no profile: choose from TF1_13, TF1_15,"),
        (["--backends", "simm"], "BackendNotFound: No backend named 'simm'"),
        (["--function", "missing"], "defines no function missing(strategy)"),
        (["--timeout", "soon"], "Invalid value for '--timeout'"),
    ],
)
def test_a_mistake_in_the_options_ends_with_2_and_one_clear_message(lesson, arguments, text):
    result = call("check", lesson, *arguments)
    assert result.exit_code == 2
    printed = " ".join((result.stdout + result.stderr).replace("│", " ").split())
    assert text in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("command", ["check", "run"])
def test_a_missing_file_ends_with_2(command, tmp_path):
    result = call(command, tmp_path / "missing.py")
    assert result.exit_code == 2
    assert "InvalidArgument: There is no file" in result.stderr


def test_run_prints_values_variables_and_the_length_of_the_trace(lesson):
    result = call("run", lesson, "--replicas", "2")
    assert result.exit_code == 0
    assert "result['sum'] of local replica 0: float32[2], last 4.0" in result.stdout
    assert "variable 0 'w': float32[] = 1.0, equal on 2 replicas" in result.stdout
    assert "4 events in the trace" in result.stdout


def test_run_of_a_program_that_raises_ends_with_1_and_the_error(lesson):
    result = call("run", lesson, "--function", "raising")
    assert result.exit_code == 1
    assert "KeyError: 'mine'" in result.stdout


def test_run_writes_a_trace_that_can_be_read(lesson, tmp_path):
    assert call("run", lesson, "--replicas", "2", "--trace", tmp_path / "t.jsonl").exit_code == 0
    events = Trace.read(tmp_path / "t.jsonl")
    assert [event.kind for event in events] == ["variable", "run", "all_reduce", "all_reduce"]
    assert {event.site.split(":")[0] for event in events} == {"lesson.py"}


def test_run_simulates_workers_and_names_each(lesson, tmp_path):
    result = call("run", lesson, "--workers", "2", "--replicas", "2", "--trace", tmp_path / "t.jsonl")
    assert result.exit_code == 0
    assert "worker 0: result['sum'] of local replica 0: float32[2], last 8.0" in result.stdout
    assert "worker 1: variable 0 'w': float32[] = 1.0, equal on 2 replicas" in result.stdout
    assert {event.worker for event in Trace.read(tmp_path / "t.jsonl")} == {0, 1}


def test_run_takes_a_schedule_and_a_profile(lesson):
    result = call("run", lesson, "--function", "profile", "--semantics", "tf2", "--schedule", "seeded:5")
    assert result.exit_code == 0
    assert "'TF2'" in result.stdout
    assert "= 3" in call("run", lesson, "--function", "replicas", "--replicas", "3").stdout


@pytest.mark.parametrize("option", ["--replicas", "--workers"])
def test_run_needs_at_least_one_of_each(lesson, option):
    assert call("run", lesson, option, "0").exit_code == 2


def test_backends_lists_what_is_there_and_what_to_install(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setitem(INSTALL_HINTS, "acme", "pip install simstrategy-acme")
    from simstrategy.cli import backends as module

    monkeypatch.setattr(module, "available", lambda: {"sim": None, "broken": None})
    result = call("backends")
    assert result.exit_code == 0
    lines = {line.split()[0]: line for line in result.stdout.splitlines() if line.strip()}
    assert "sim:0" in lines["sim"]
    assert "greenlet" in lines["sim"]
    assert "all replicas in one process" in lines["sim"]
    assert "not installed: pip install simstrategy-acme" in lines["acme"]
    assert "No backend named 'broken'" in lines["broken"]


def test_help_names_the_commands_and_no_arguments_is_help():
    for arguments in (["--help"], []):
        text = call(*arguments).output
        assert all(command in text for command in ("backends", "check", "run"))


def test_lists_schedules_and_profiles_are_understood():
    assert words(" a, b ,,c") == ["a", "b", "c"]
    assert words("") == []
    assert numbers("1, 2,4") == [1, 2, 4]
    assert numbers("") == []
    assert schedule_maker("in-order") is InOrder
    assert schedule_maker("seeded:-4")().name == "Seeded(-4)"
    assert isinstance(schedule_maker("seeded:4")(), Seeded)
    assert semantics_named("tf1_13") is Semantics.TF1_13


@pytest.mark.slow
def test_the_command_line_says_what_to_install_where_its_libraries_are_missing():
    code = "import sys\nsys.modules['typer'] = None\nfrom simstrategy.cli import main\nmain()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True)
    assert result.returncode == 1
    assert result.stderr.strip() == "The command line needs typer: pip install 'simstrategy[cli]'"
