"""The command line ends although a program has left threads that cannot go on, and not without a verdict."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import queue, threading
import simstrategy as ss


def program(strategy):
    threading.Thread(target={target}, name="helper").start()
    return strategy.run(lambda: ss.get_replica_context().all_reduce("MEAN", 1.0))


def written():
    threading.Event().wait(1.0)
    open("written", "w").close()
"""


def done(folder: Path, target: str, *command: str) -> "subprocess.CompletedProcess[str]":
    (folder / "left.py").write_text(PROGRAM.format(target=target))
    return subprocess.run(
        [sys.executable, "-m", "simstrategy", *command, "left.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.slow
def test_a_thread_that_cannot_go_on_is_shown_and_not_waited_for(tmp_path: Path) -> None:
    found = done(tmp_path, "queue.Queue().get", "run")
    assert (found.returncode, found.stdout.splitlines()[0]) == (0, "result: float32[] = 1.0")
    assert "  thread 'helper' waits for Queue at " in found.stderr
    assert "This process ends without them." in found.stderr


@pytest.mark.slow
def test_a_thread_that_can_go_on_is_waited_for(tmp_path: Path) -> None:
    found = done(tmp_path, "written", "run")
    assert (found.returncode, found.stderr) == (0, "")
    assert (tmp_path / "written").exists()


@pytest.mark.slow
def test_the_exit_code_is_that_of_the_command(tmp_path: Path) -> None:
    found = done(
        tmp_path, "queue.Queue().get", "check", "--replicas", "2", "--backends", "sim", "--schedules", "in-order"
    )
    assert found.returncode == 2, found.stdout  # one number of replicas is compared with nothing
    assert found.stderr.count("thread 'helper' waits for Queue") >= 2


EXITS = """
import os
import simstrategy as ss


def program(strategy):
    {code}
    return strategy.run(lambda: ss.get_replica_context().all_reduce("MEAN", 1.0))
"""
FORKS = "child = os.fork(); child or os._exit(0); os.waitpid(child, 0)"


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--quiet-program",)])
def test_a_program_that_ends_the_process_of_a_check_is_not_judged(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "ends.py").write_text(EXITS.format(code="os._exit(0)"))
    command = [sys.executable, "-m", "simstrategy", "check", "ends.py", *options]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert found.returncode == 2, found.stdout + found.stderr
    assert "The program ended this process by os._exit(0), so nothing was judged." in found.stderr


@pytest.mark.slow
def test_a_process_that_a_checked_program_forks_may_end_itself(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text(EXITS.format(code=FORKS))
    command = [sys.executable, "-m", "simstrategy", "check", "forks.py"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout + found.stderr
