"""The process that forks workers: it has imported their modules, so that a new worker starts in milliseconds.

It is the parent of the workers. When its channel closes, however the launcher ended, it kills all workers, removes
their folder and ends. It runs no jobs.

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
        # A process with threads cannot be forked: start again without imports; each worker imports its modules.
        os.set_inheritable(number, True)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "simstrategy.launch.forkserver", str(number)])  # noqa: S606
    gc.freeze()  # without this, the first collection of a worker copies all memory of the imported modules
    folder = Path(tempfile.mkdtemp(prefix="simstrategy-"))
    children: dict[int, int | None] = {}
    try:
        control.send({"folder": str(folder), "problem": problem})
        while True:
            request, end = control.receive()
            control.send(_forked_or_ended(request, end, control, folder, children))
    except (Closed, KeyboardInterrupt, SystemExit):
        pass
    finally:
        for child in children:
            _end(child, children)
        shutil.rmtree(folder, ignore_errors=True)


def _leave(*_: Any) -> NoReturn:
    raise SystemExit(1)


def _import(modules: list[str]) -> str | None:
    """Imports modules; returns the error of the first one that fails, or None.  Its users raise the error again."""
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as error:  # noqa: BLE001 - a worker that needs the module raises it again
            return f"{module}: {error}"
    return None


def _forked_or_ended(
    request: Any, end: int | None, control: Channel, folder: Path, children: dict[int, int | None]
) -> Any:
    """Forks a worker, or ends one; returns its process number, or how it ended."""
    if request["do"] == "end":
        return _end(request["process"], children)
    assert end is not None
    parent = os.getpid()
    child = os.fork()
    if child:
        os.close(end)
        children[child] = None
        return child
    code = 1
    try:
        os.setsid()
        _die_with(parent)
        control.close()
        jobs = Channel(socket.socket(fileno=end))  # never closed here: the launcher takes a closed channel as the end
        code = work(jobs, folder / f"output{os.getpid()}")
    finally:
        os._exit(code)


def _die_with(parent: int) -> None:
    """Makes the system kill this process when its parent ends, even if this process is stopped."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _end(child: int, children: dict[int, int | None]) -> int:
    """Kills a worker and its child processes unless it has ended; returns its exit code, negative for a signal."""
    code = children[child]
    if code is None:
        for kill in (os.killpg, os.kill):  # a new worker may not have a process group yet
            with contextlib.suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
        code = children[child] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
