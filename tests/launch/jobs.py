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


def stops_itself() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
