"""What the launcher's tests let workers do: functions at the top level of a file, of JSON values."""

import os
import random
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np

RANK = os.environ.get("RANK")


def hello(*arguments: Any) -> list[Any]:
    sys.stdout.write(f"hello from {os.environ['RANK']}\n")
    return [os.getpid(), os.environ["RANK"], *arguments]


def environment(names: list[str]) -> list[str | None]:
    return [os.environ.get(name) for name in names]


def set_variable(name: str) -> None:
    os.environ[name] = "set by a job"


def rank_at_import() -> str | None:
    return RANK


def chance() -> list[float]:
    return [float(np.random.random()), random.random()]


def nothing_json() -> Any:
    return object()


def fails() -> None:
    if os.environ["RANK"] == "1":
        raise KeyError("mine")


def fails_or_waits() -> None:
    fails()
    waits()


def ends(how: str) -> None:
    if os.environ["RANK"] == "1":
        if how == "exit":
            sys.exit(7)
        if how == "text":
            sys.exit("that was all")
        os.kill(os.getpid(), int(how))


def waits() -> None:
    threading.Event().wait()


def starts_a_process() -> int:
    return subprocess.Popen(["sleep", "1000"]).pid


def starts_everything() -> list[int]:
    """Starts processes that leave their parent's group in all ways, and returns their numbers."""
    return [STARTS[how]() for how in STARTS]


def starts_everything_and_ends() -> None:
    sys.stdout.write(f"{starts_everything()}\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


def starts_everything_and_waits() -> None:
    sys.stdout.write(f"{starts_everything()}\n")
    sys.stdout.flush()
    waits()


def kills_its_parent() -> list[int]:
    """Kills the process that keeps this one, and itself with it."""
    sys.stdout.write(f"{starts_everything()}\n")
    sys.stdout.flush()
    os.kill(os.getppid(), signal.SIGKILL)
    waits()
    return []


def _in_a_session() -> int:
    return subprocess.Popen(["sleep", "1000"], start_new_session=True).pid


def _daemon() -> int:
    """Forks twice, in a session of its own, and closes all files, as daemons do."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            os.write(writing, os.getpid().to_bytes(4))
            os.closerange(0, 1000)
            waits()
        os._exit(0)
    os.wait()
    return int.from_bytes(os.read(reading, 4))


def _grandchild() -> int:
    """Starts a shell that starts a process in a session, and prints its number, and goes on."""
    shell = subprocess.Popen(
        ["sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000' & wait"], stdout=subprocess.PIPE, start_new_session=True
    )
    assert shell.stdout is not None
    return int(shell.stdout.readline())


def _orphan() -> int:
    """Starts a shell that ends at once, and whose background process stays."""
    found = subprocess.run(
        ["sh", "-c", "sleep 1000 >&- 2>&- & echo $!"], stdout=subprocess.PIPE, check=True, start_new_session=True
    )
    return int(found.stdout)


def _fork() -> int:
    """Forks, and keeps every open file, the channel to the launcher too."""
    child = os.fork()
    if child == 0:
        waits()
    return child


STARTS = {
    "a session": _in_a_session,
    "a daemon": _daemon,
    "a grandchild": _grandchild,
    "an orphan": _orphan,
    "a fork": _fork,
}


def stops_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
