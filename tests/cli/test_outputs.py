"""What `check` writes besides the terminal, what it drops of a program's output, and what `run` shows of results."""

import json
import os
import pty
import subprocess
import sys
from xml.etree import ElementTree as Xml

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for

LESSON = """
import os, sys, warnings
import numpy as np

def ones(strategy):
    return strategy.run(lambda: strategy.xp.ones((2,)))

def lawful(strategy):
    return strategy.reduce("MEAN", ones(strategy), axis=None)

def differs(strategy):
    return strategy.reduce("SUM", ones(strategy), axis=None)

def nothing(strategy):
    lawful(strategy)

def moves(strategy):
    os.chdir("/")
    return lawful(strategy)

def long(strategy):
    return {"long": np.arange(20.0), "short": np.arange(3), "none": np.zeros((0, 2)), "one": 7}

def loud(strategy):
    print("by print")
    os.write(1, b"by a descriptor")
    os.write(2, b"by the other")
    os.system("echo by a child")
    sys.__stdout__.write("not flushed")
    warnings.warn("by a warning")
    for _ in range(50):
        print("x" * 100_000)
    return lawful(strategy)

def closes(strategy):
    for descriptor in (1, 2):
        try:
            os.close(descriptor)
        except OSError:
            pass
    return lawful(strategy)
"""
ALL = ("json", "junit", "markdown", "html")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lesson.py").write_text(LESSON)
    return tmp_path


def check(function, *options):
    words = ["check", "lesson.py", "--function", function, "--replicas", "1,2", *map(str, options)]
    result = CliRunner().invoke(app_for(words), words)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def process(*words, **options):
    command = [sys.executable, "-m", "simstrategy", *map(str, words)]
    return subprocess.run(command, timeout=100, check=False, **options)


@pytest.mark.parametrize(("function", "code"), [("lawful", 0), ("differs", 1), ("nothing", 2), ("moves", 0)])
def test_all_files_are_written_whatever_the_verdict(folder, function, code):
    result = check(function, *(word for name in ALL for word in (f"--{name}", f"out.{name}")))
    assert result.exit_code == code
    assert json.loads((folder / "out.json").read_text())["exit_code"] == code
    outcome = {0: [], 1: ["failure"], 2: ["error"]}[code]
    found = Xml.parse(folder / "out.junit").iter()
    assert [one.tag for one in found if one.tag in ("failure", "error")] == outcome
    assert "check of lesson.py" in (folder / "out.markdown").read_text()
    assert "<h1>check of lesson.py</h1>" in (folder / "out.html").read_text()
    assert os.getcwd() == str(folder)
    assert sorted(one.name for one in folder.iterdir() if one.name.startswith("out")) == [
        f"out.{name}" for name in sorted(ALL)
    ]


def test_markdown_is_added_and_the_others_are_replaced(folder):
    for _ in range(2):
        check("lawful", "--markdown", "summary.md", "--json", "report.json")
    assert (folder / "summary.md").read_text().count("### ") == 2
    assert json.loads((folder / "report.json").read_text())["verdict"] == "agree"


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/dev/full", "No space left on device"),
        ("nosuch/file", "there is no folder '{folder}/nosuch'. Make it first"),
        ("a_folder", "Is a directory"),
        ("a_pipe", "it is a pipe that no process reads, or a socket"),
        ("x" * 300, "File name too long"),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_a_file_that_cannot_be_written_is_an_error_after_the_results(folder, name, target, text):
    (folder / "a_folder").mkdir()
    os.mkfifo(folder / "a_pipe")
    other = "html" if name != "html" else "json"
    result = check("differs", f"--{name}", target, f"--{other}", "other")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[-1].startswith("Not all runs agree.")
    assert f"--{name}: " in result.stderr
    assert f"was not written: {text.format(folder=folder)}" in result.stderr
    assert (folder / "other").read_text()
    assert not [one for one in folder.iterdir() if one.name.endswith(".part")]


def test_a_file_that_cannot_be_written_keeps_what_it_had(folder, monkeypatch):
    """A full disk is met in the middle of writing."""
    (folder / "report.json").write_text("before")

    def fail(descriptor, *_, **__):
        os.close(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("simstrategy.cli.writing.os.fdopen", fail)
    assert check("lawful", "--json", "report.json").exit_code == 2
    assert (folder / "report.json").read_text() == "before"
    assert [one.name for one in folder.glob("report*")] == ["report.json"]


def test_a_link_stays_a_link(folder):
    (folder / "real.json").write_text("")
    (folder / "link.json").symlink_to("real.json")
    assert check("lawful", "--json", "link.json").exit_code == 0
    assert (folder / "link.json").is_symlink()
    assert json.loads((folder / "real.json").read_text())["verdict"] == "agree"


@pytest.mark.slow
def test_a_pipe_that_is_read_and_a_terminal_that_is_gone(folder):
    words = ("check", "lesson.py", "--function", "differs", "--replicas", "1,2", "--json")
    piped = process(*words, "/dev/stdout", stdout=subprocess.PIPE)
    assert piped.returncode == 1
    assert json.loads(piped.stdout[piped.stdout.index(b"{") :])["verdict"] == "differ"
    with open("/dev/full", "w") as full:
        assert process(*words, "kept.json", stdout=full, stderr=subprocess.PIPE).returncode == 2
    assert json.loads((folder / "kept.json").read_text())["verdict"] == "differ"


@pytest.mark.slow
def test_a_quiet_program_prints_nothing_at_all(folder):
    words = ("check", "lesson.py", "--replicas", "1,2", "--function")
    done = process(*words, "loud", "--quiet-program", capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "by " not in done.stdout.replace("moved by one ulp", "").replace("changes the result by", "")
    assert "not flushed" not in done.stdout
    assert done.stdout.startswith("check of lesson.py\n")
    loud = process(*words, "loud", capture_output=True, text=True)
    for text in ("by print", "by a descriptor", "by a child", "not flushed", "x" * 100_000):
        assert text in loud.stdout
    closed = process(*words, "closes", "--quiet-program", capture_output=True, text=True)
    assert closed.returncode == 0
    assert "All runs agree" in closed.stdout


def test_errors_of_a_quiet_program_are_shown(folder):
    assert "There is no file at 'nosuch.py'" in str(
        CliRunner().invoke(app_for(["check"]), ["check", "nosuch.py", "--quiet-program"]).stderr
    )


def on_terminal(*words):
    """Returns what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "simstrategy", *words]
    with subprocess.Popen(
        command, stdout=theirs, stderr=subprocess.DEVNULL, env={**os.environ, "TERM": "xterm"}
    ) as one:
        os.close(theirs)
        found = b""
        while True:
            try:
                data = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            found += data
            if not data:
                break
    os.close(ours)
    return found.decode(errors="replace"), one.returncode


@pytest.mark.slow
@pytest.mark.parametrize("quiet", [[], ["--quiet-program"]])
def test_a_terminal_shows_progress_and_a_log_does_not(folder, quiet):
    words = ("check", "lesson.py", "--function", "lawful", "--replicas", "1,2")
    shown, code = on_terminal(*words, *quiet)
    assert code == 0
    assert "lesson.py" in shown.partition("check of lesson.py")[0]
    assert "0:00:0" in shown
    assert "All runs agree" in shown
    log = process(*words, *quiet, capture_output=True, text=True)
    assert log.stdout.startswith("check of lesson.py\n")
    assert "\x1b" not in log.stdout
    assert "0:00" not in log.stdout + log.stderr
    run, _ = on_terminal("run", "lesson.py", "--function", "lawful", "--replicas", "2")
    assert "lesson.py on sim, 2 replicas" in run


@pytest.mark.parametrize(
    ("options", "long"),
    [
        ([], "first 10: 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0, last 19.0"),
        (["--first", "2"], "first 2: 0.0 1.0, last 19.0"),
        (["--first", "0"], "last 19.0"),
    ],
)
def test_run_shows_the_first_values_of_each_result(folder, options, long):
    words = ["run", "lesson.py", "--function", "long", *options]
    lines = CliRunner().invoke(app_for(words), words).stdout.splitlines()
    assert lines[:3] == [
        f"result['long']: float64[20], {long}",
        "result['none']: float64[0, 2]",
        "result['one']: int64[] = 7",
    ]
    short = {"2": ", first 2: 0 1, last 2", "0": ", last 2"}
    assert lines[3] == f"result['short']: int64[3]{short.get(options[-1], ' = 0 1 2') if options else ' = 0 1 2'}"


def test_a_program_that_changes_the_folder_does_so_for_one_run_only(folder):
    words = ["run", "lesson.py", "--function", "moves", "--trace", "here.trace"]
    assert CliRunner().invoke(app_for(words), words).exit_code == 0
    assert (folder / "here.trace").exists()
    assert os.getcwd() == str(folder)
    words = ["run", "lesson.py", "--function", "moves", "--workers", "2"]
    assert CliRunner().invoke(app_for(words), words).exit_code == 0
    assert os.getcwd() == str(folder)
