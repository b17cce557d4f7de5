"""No command line ends with a traceback: hostile programs, files, options and outputs, and drawn command lines."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shares import one_in

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for
from simstrategy.schedules import Seeded
from simstrategy.trace import Trace

PROGRAMS = """
import os, sys
import numpy as np
import simstrategy as ss

class Odd(Exception):
    def __str__(self): raise ValueError("no text")

class Shy:
    def __repr__(self): raise RuntimeError("no repr")

def program(strategy): return float(strategy.num_replicas_in_sync)
def added(strategy): return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32(1)))
def itself(strategy):
    one = []
    one.append(one)
    return one
def without_repr(strategy): return Shy()
def surrogate(strategy): raise ValueError("a \\ud800 b")
def surrogate_result(strategy): return "a \\ud800 b"
def odd(strategy): raise Odd
def notes(strategy):
    error = ValueError("mine")
    error.__notes__ = [3, Shy(), "a \\ud800 b"]
    raise error
def one_note(strategy):
    error = ValueError("mine")
    error.__notes__ = 3
    raise error
def exits(strategy): sys.exit(0)
def exits_with_text(strategy): sys.exit("a text")
def interrupts(strategy): raise GeneratorExit
def deep(strategy): return deep(strategy)
def closes_output(strategy): os.close(1)
def closes_both(strategy):
    os.close(1)
    os.close(2)
def closes_stream(strategy): sys.stdout.close()
def nothing(): return 1
def many(*strategies): return len(strategies)
not_callable = 3
"""
FUNCTIONS = [line.split("(")[0][4:] for line in PROGRAMS.splitlines() if line.startswith("def ")]
HARMFUL = ("closes_output", "closes_both", "closes_stream")
"""These end the output of the process that runs them."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lesson.py").write_text(PROGRAMS)
    (tmp_path / "exits.py").write_text("import sys; sys.exit(0)")
    (tmp_path / "raises.py").write_text("1 / 0")
    (tmp_path / "broken.py").write_text("def program(:")
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    return tmp_path


def ended(*arguments: object) -> tuple[int, str]:
    """Returns the exit code and what was printed; fails where an exception came out."""
    words = [str(one) for one in arguments]
    result = CliRunner().invoke(app_for(words), words)
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)
    assert "Traceback" not in result.output, (words, result.output)
    return result.exit_code, result.output


COULD_NOT_BE_DONE = {
    "a folder as trace": ["run", "lesson.py", "--trace", "folder.py"],
    "a pipe as trace": ["run", "lesson.py", "--trace", "pipe.py"],
    "no folder for the trace": ["run", "lesson.py", "--trace", "nosuch/trace"],
    "a module that is no backend": ["run", "lesson.py", "--backend", "json:loads"],
    "a function that opens nothing": ["run", "lesson.py", "--backend", "os:getcwd"],
    "a module without a name": ["run", "lesson.py", "--backend", "..:x"],
    "a name without a module": ["run", "lesson.py", "--backend", ":x"],
    "no function": ["run", "lesson.py", "--backend", "math:pi"],
    "a loop of links": ["run", "loop.py"],
    "a name too long": ["run", "x" * 5000],
    "a name with a null": ["run", "a\0b.py"],
    "a folder": ["run", "folder.py"],
    "a pipe": ["run", "pipe.py"],
    "a device": ["run", "/dev/null"],
    "a file that exits": ["run", "exits.py"],
    "a file that raises": ["run", "raises.py"],
    "a file that is not Python": ["run", "broken.py"],
    "a file of bytes": ["run", "bytes.py"],
    "a function that is none": ["run", "lesson.py", "--function", "not_callable"],
    "a batch too large": ["split", "--batch", str(10**20)],
    "files with huge numbers": ["split", "--files", "9" * 5000],
    "check of a file that exits": ["check", "exits.py"],
    "check of a loop of links": ["check", "loop.py"],
    "check of a pipe": ["check", "pipe.py"],
    "check of a name too long": ["check", "x" * 5000],
    "check with json": ["check", "lesson.py", "--backends", "json:loads"],
    "check with os": ["check", "lesson.py", "--backends", "sim,os:getcwd"],
    "conform of no backend": ["conform", "os:getcwd"],
}


@pytest.mark.parametrize("arguments", COULD_NOT_BE_DONE.values(), ids=COULD_NOT_BE_DONE)
def test_what_could_not_be_done_ends_with_2_and_a_message(folder: Path, arguments: list[str]) -> None:
    code, text = ended(*arguments)
    assert code == 2, text
    assert text.strip()


@pytest.mark.parametrize("function", [one for one in FUNCTIONS if one not in HARMFUL])
@pytest.mark.parametrize("command", ["run", "check"])
def test_whatever_a_program_does_there_is_no_traceback(folder: Path, command: str, function: str) -> None:
    code, text = ended(command, "lesson.py", "--function", function)
    assert code in (0, 1, 2), text
    assert text.strip()


def test_the_results_are_shown_before_the_trace_is_written(folder: Path) -> None:
    code, text = ended("run", "lesson.py", "--function", "added", "--trace", "/dev/full")
    assert code == 2
    assert text.index("in the trace") < text.index("/dev/full cannot be written: No space left")
    assert "float32[] = 1.0" in text


def test_a_trace_goes_to_a_device_that_takes_it(folder: Path) -> None:
    assert ended("run", "lesson.py", "--trace", "/dev/null")[0] == 0
    assert ended("run", "lesson.py", "--trace", "trace")[0] == 0
    assert len(Trace.read("trace")) == 0


def test_the_text_of_an_error_is_shown_as_far_as_it_can_be(folder: Path) -> None:
    assert "ValueError: a " in ended("run", "lesson.py", "--function", "surrogate")[1]
    _, text = ended("run", "raises.py")
    assert "ZeroDivisionError: division by zero" in text
    assert "raised at raises.py:1" in text


def process(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "simstrategy", *arguments]
    # Where Python keeps no output back, none is left to be written in the end.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        command, env=environment, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **options
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("function", one_in(2, ["added", *HARMFUL]))
def test_an_output_that_is_closed_or_full_ends_with_2(folder: Path, function: str) -> None:
    """Not with 1, which stands for a program that raised or differs."""
    with Path("/dev/full").open("w") as full:
        assert process("run", "lesson.py", "--function", function, stdout=full).returncode == 2
    reading, writing = os.pipe()
    os.close(reading)
    assert process("run", "lesson.py", "--function", function, stdout=writing).returncode == 2
    os.close(writing)


REPLACED = """
import io, sys
import numpy as np
import simstrategy as ss

class Tee:
    def write(self, text): pass

STREAMS = dict(tee=Tee, file=lambda: open("run.log", "w"), text=io.StringIO)

def program(strategy):
    sys.stdout = STREAMS["{0}"]() if "{0}" in STREAMS else sys.stdout
    if "{0}" == "closed":
        sys.stdout.close()
    return strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32(1)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("stream", ["tee", "file", "text", "closed"])
def test_a_report_is_shown_where_the_command_began(folder: Path, stream: str) -> None:
    (folder / "replaces.py").write_text(REPLACED.format(stream))
    done = process("check", "replaces.py", "--replicas", "1,2", stdout=subprocess.PIPE)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "Not all runs agree." in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["split", "--total", "4"], ["backends"]])
def test_a_text_that_cannot_be_written_ends_with_2(folder: Path, words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = process(*words, stdout=full)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr


@pytest.mark.slow
def test_a_folder_that_was_removed_is_no_traceback(folder: Path) -> None:
    lesson = str(folder / "lesson.py")
    gone = folder / "gone"
    gone.mkdir()
    script = f"import os, sys; os.rmdir({str(gone)!r}); sys.argv = ['simstrategy', 'run', sys.argv[1]];"
    script += "from simstrategy.cli import main; main()"
    for file, code in ((lesson, 0), ("lesson.py", 2)):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", script, file], cwd=gone, capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


TEXTS = (
    *(
        "",
        " ",
        "x",
        "0",
        "-1",
        "1",
        "2",
        "1,2",
        "1,,2",
        "9" * 30,
        "1e3",
        "nan",
        "inf",
        "é",
        "\ud800",
        "a\0b",
        "--",
        "-",
    ),
    *("lesson.py", "folder.py", "pipe.py", "loop.py", "raises.py", "nosuch.py", "/dev/null", "program", "added"),
    *("in-order", "seeded:3", "seeded:" + "9" * 30, "TF2", "tf1_13", "all", "AUTO", "stream", "json:loads", ":"),
    *("sim", "a:b:c", "[red]x[/]", "[/]", "x" * 300, "3,5,2", "\x1b[2J", "%s", "../.."),
)
OPTIONS = {
    "run": ("--backend", "--replicas", "--schedule", "--semantics", "--trace", "--function", "--timeout", "--first"),
    "check": (
        *("--backends", "--replicas", "--schedules", "--semantics", "--function", "--allow-errors", "--timeout"),
        *("--json", "--junit", "--markdown", "--html", "--quiet-program"),
    ),
    "split": (
        *("--total", "--files", "--batch", "--drop-remainder", "--repeat", "--repeat-batches", "--map", "--workers"),
        *("--replicas", "--policy", "--rule", "--semantics", "--first", "--json"),
    ),
    "conform": ("--profile", "--seed", "--clauses", "--exceptions", "--jobs"),
    "backends": (),
}
FLAGS = ("--drop-remainder", "--map", "--allow-errors", "--quiet-program")
COUNTS = ("--replicas", "--workers", "--total", "--repeat", "--repeat-batches", "--first", "--batch")


def drawn(schedule: Seeded) -> list[str]:
    """Draws a command line.  Large counts are left out where a count is made: they take long, and rightly."""
    command = [*OPTIONS][schedule.choose("command", len(OPTIONS))]
    words = [command]
    if command in ("run", "check"):
        words += ["lesson.py" if schedule.choose("file", 2) else TEXTS[schedule.choose("text", len(TEXTS))]]
    if command == "conform":
        words += [f"{TEXTS[schedule.choose('text', len(TEXTS))]}nosuch"]  # the kit itself would run
    options = OPTIONS[command]
    for _ in range(schedule.choose("options", 4) if options else 0):
        option = options[schedule.choose("option", len(options))]
        text = TEXTS[schedule.choose("text", len(TEXTS))]
        if option in COUNTS and text == "9" * 30:
            text = "7"
        words += [option] if option in FLAGS else [option, text]
    if schedule.choose("more", 8) == 0:
        words += [TEXTS[schedule.choose("text", len(TEXTS))]]
    return words


LINES = int(os.environ.get("SIMSTRATEGY_COMMAND_LINES", "150"))
"""How many are drawn."""


def test_drawn_command_lines_end_without_a_traceback(folder: Path) -> None:
    schedule = Seeded(15)
    for _ in range(LINES):
        words = drawn(schedule)
        code, _ = ended(*words)
        assert code in (0, 1, 2), words
