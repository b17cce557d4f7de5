"""Commands are run for a limited time, and nothing of them is left."""

import os
import sys
import time

import pytest

from simstrategy_corpus.processes import run_command

STARTS_ANOTHER = (
    "import subprocess, sys\n"
    "one = subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'], start_new_session=True)\n"
    "print(one.pid, flush=True)\n"
)


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_command_gives_its_code_and_its_output():
    ran = run_command([sys.executable, "-c", "import sys; print('a'); print('b', file=sys.stderr); sys.exit(3)"], 60)
    assert (ran.code, sorted(ran.text.split())) == (3, ["a", "b"])


@pytest.mark.parametrize("rest", ["", "import signal; signal.pause()"])
def test_processes_of_a_command_are_ended_with_it(rest):
    ran = run_command([sys.executable, "-c", STARTS_ANOTHER + rest], 0.5 if rest else 60)
    assert (ran.code is None) == bool(rest)
    until = time.monotonic() + 60
    while is_running(int(ran.text)) and time.monotonic() < until:
        os.sched_yield()
    assert not is_running(int(ran.text))
