"""The process that forks workers: it has imported their modules, so that a new worker starts in milliseconds.

Each worker has a keeper (`keeper.py`), which ends what its jobs started. When the channel closes, however the launcher
ended, this process ends all workers, removes their folder and ends. It runs no jobs.

    python -m simstrategy.launch.forkserver CHANNEL [MODULE[:FUNCTION:TEXT] …]

A function of an imported module is called with the text after it.
"""

import gc
import importlib
import os
import shutil
import signal
import socket
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any, NoReturn

from simstrategy.launch.channel import Channel, Closed
from simstrategy.launch.keeper import (
    KeptWorker,
    adopt_orphans,
    end_children,
    end_worker,
    lost_in_a_fork,
    start_worker,
)


def main(number: int, modules: list[str]) -> None:
    """Serves the channel of this number until it closes."""
    control = Channel(socket.socket(fileno=number))
    signal.signal(signal.SIGTERM, _leave)
    gc.disable()  # nothing that an import leaves is garbage for long, and a collection looks at all modules
    problem = _import(modules)
    _keep_finalizers()
    gc.enable()
    if modules and lost_in_a_fork():
        # A process with threads cannot be forked: start again without imports; each worker imports its modules.
        os.set_inheritable(number, True)
        os.execv(sys.executable, [sys.executable, "-P", "-m", "simstrategy.launch.forkserver", str(number)])  # noqa: S606
    gc.freeze()  # without this, the first collection of a worker copies all memory of the imported modules
    adopt_orphans()  # of a keeper that a job has killed
    folder = Path(tempfile.mkdtemp(prefix="simstrategy-"))
    workers: dict[int, KeptWorker] = {}
    try:
        control.send({"folder": str(folder), "problem": problem})
        while True:
            request, end = control.receive()
            if request["do"] == "end":
                control.send(_ended(request["process"], workers))
            else:
                assert end is not None
                control.send(_started(end, request["main"], control, folder, workers))
    except (Closed, KeyboardInterrupt, SystemExit):
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for process in [*workers]:
            _ended(process, workers)
        end_children()
        shutil.rmtree(folder, ignore_errors=True)


def _leave(*_: Any) -> NoReturn:
    raise SystemExit(1)


def _import(modules: list[str]) -> str | None:
    """Imports modules; returns the error of the first one that fails, or None.  Its users raise the error again."""
    for entry in modules:
        module, _, call = entry.partition(":")
        function, _, text = call.partition(":")
        try:
            imported = importlib.import_module(module)
            if function:
                vars(imported)[function](text)
        except Exception as error:  # noqa: BLE001 - a worker that needs the module raises it again
            return f"{module}: {error}"
    return None


def _keep_finalizers() -> None:
    """Lets no worker run at its end what an import left for the end of the process: that is this process's.

    Torch's imports leave some that take apart the tables of all operators, and a worker would copy each page of them.
    """
    for finalizer in list(vars(weakref.finalize)["_registry"]):  # there is no public list
        finalizer.atexit = False


def _started(end: int, main: str, control: Channel, folder: Path, workers: dict[int, KeptWorker]) -> int:
    """Starts a worker, whose end of the channel to the launcher is `end`; returns its process number.

    main: "module:function" of what the worker calls, with the channel and the name of a file for its output; it returns
    the exit code.
    """

    def run_jobs() -> NoReturn:
        control.close()
        jobs = Channel(socket.socket(fileno=end))
        # Ends here, while the channel is open: the launcher takes a closed one as the end, and has the worker killed.
        module, _, function = main.partition(":")
        os._exit(vars(importlib.import_module(module))[function](jobs, folder / f"output{os.getpid()}"))

    worker = start_worker(run_jobs, (end, control.fileno()))
    os.close(end)
    workers[worker.process] = worker
    return worker.process


def _ended(process: int, workers: dict[int, KeptWorker]) -> int:
    """Ends a worker and all processes that it started; returns its exit code, negative for a signal."""
    code = end_worker(workers.pop(process))
    end_children([worker.keeper for worker in workers.values()])
    return code


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # to take apart all modules, as an interpreter does at its end, is longer than a short run
