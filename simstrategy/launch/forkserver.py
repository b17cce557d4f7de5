"""The process that workers are forked from: it has imported what they need, so that a new one costs milliseconds.

It is their parent, and outlives whoever asked for them by a moment: when its channel closes, however the
launcher ended, it kills them all, removes their folder and ends. It runs no program itself.

    python -m simstrategy.launch.forkserver CHANNEL [MODULE …]
"""

import contextlib
import ctypes
import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any, Final, NoReturn

from simstrategy.launch.channel import Channel, Closed
from simstrategy.launch.worker import work

_DIE_WITH_PARENT: Final = 1
"""Linux: prctl(PR_SET_PDEATHSIG, …)."""


def main(number: int, modules: list[str]) -> None:
    """Serves the channel of this number until it closes."""
    control = Channel(socket.socket(fileno=number))
    signal.signal(signal.SIGTERM, _leave)
    problem = _import(modules)
    if modules and len(os.listdir("/proc/self/task")) > 1:
        # A module that starts threads cannot be forked: every worker imports it by itself.
        os.set_inheritable(number, True)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "simstrategy.launch.forkserver", str(number)])  # noqa: S606
    gc.freeze()  # else a worker's first collection copies all that was imported
    folder = Path(tempfile.mkdtemp(prefix="simstrategy-"))
    children: dict[int, int | None] = {}
    try:
        control.send({"folder": str(folder), "problem": problem})
        while True:
            asked, hand = control.receive()
            control.send(_answer(asked, hand, control, folder, children))
    except (Closed, KeyboardInterrupt, SystemExit):
        pass
    finally:
        for child in children:
            _end(child, children)
        shutil.rmtree(folder, ignore_errors=True)


def _leave(*_: Any) -> NoReturn:
    raise SystemExit(1)


def _import(modules: list[str]) -> str | None:
    """Imports modules; returns what was wrong with one of them, which its users will hear again."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - told where a worker needs it: by that worker
            return f"{module}: {error}"
    return None


def _answer(asked: Any, hand: int | None, control: Channel, folder: Path, children: dict[int, int | None]) -> Any:
    if asked["do"] == "end":
        return _end(asked["process"], children)
    assert hand is not None
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(hand)
        children[child] = None
        return child
    code = 1
    try:
        os.setsid()
        _die_with(parent)
        control.close()
        jobs = Channel(socket.socket(fileno=hand))  # kept to the very end: closed, it says that this process ended
        code = work(jobs, folder / f"output{os.getpid()}")
    finally:
        os._exit(code)


def _die_with(parent: int) -> None:
    """Asks the system to kill this process when its parent ends, even if it is stopped then."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _end(child: int, children: dict[int, int | None]) -> int:
    """Kills a worker and what it started, if it has not ended; returns its exit code, negative for a signal."""
    code = children[child]
    if code is None:
        for kill in (os.killpg, os.kill):  # a new one may not have made its own group yet
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        code = children[child] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
