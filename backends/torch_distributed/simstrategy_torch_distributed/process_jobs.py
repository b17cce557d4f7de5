"""A process that `multiprocessing` spawns, as a job: pickled in the program's own process, and run in another one."""

import base64
import importlib
import multiprocessing
import pickle
import sys
from collections.abc import Callable, Sequence
from multiprocessing import context, resource_tracker, spawn, util
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

from simstrategy.launch.channel import Channel
from simstrategy_torch_distributed.hints import worded
from simstrategy_torch_distributed.inherited import Inherited
from simstrategy_torch_distributed.program import Ending, run_called
from simstrategy_torch_distributed.spawned_process import SpawnedProcess

__all__ = ["POPEN", "end_children", "file_of", "job_of", "run_process"]

POPEN: Final = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
"""The modules from which `multiprocessing` takes the class that starts a process, whenever it starts one."""


def job_of(process: BaseProcess, made: SpawnedProcess) -> tuple[dict[str, str], int]:
    """Returns a process as pickled, and the file of the resource tracker.  made: notes the files that it needs.

    Raises what pickling the process raises.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    context.set_spawning_popen(made)  # type: ignore[arg-type]  # as each of multiprocessing's start methods does
    try:
        job = {"preparation": _text(spawn.get_preparation_data(process.name)), "process": _text(process)}
    finally:
        context.set_spawning_popen(None)
    tracker = resource_tracker.getfd()
    assert tracker is not None
    return job, tracker


def end_children() -> None:
    """Waits for the processes that have not ended, as Python does at its end: it ends daemons and managers."""
    vars(util)["_exit_function"]()


def _text(value: object) -> str:
    """Returns a value as pickled for a spawned process, in base64."""
    return base64.b64encode(bytes(ForkingPickler.dumps(value))).decode()


def file_of(channel: Channel) -> int:
    """Returns the next open file that comes through a channel."""
    _, file = channel.receive()
    assert file is not None
    return file


def run_process(job: dict[str, Any], files: Sequence[int], parent: int, tracker: int) -> Ending:
    """Runs the process that the program has made, as the interpreter of a spawned process would; returns how it ended.

    parent: becomes readable when the program's process has ended. tracker: writes to the program's resource tracker.
    """
    texts: list[str] = []

    def run() -> None:
        process = _received(job, files, tracker)
        vars(process)["run"] = _noting(process.run, texts)
        code: int = process._bootstrap(parent)  # type: ignore[attr-defined]  # noqa: SLF001 - what spawned ones call
        if code:
            raise SystemExit(code)

    ending = run_called(run)
    return ending._replace(text=texts[-1]) if texts and ending.code else ending


def _received(job: dict[str, Any], files: Sequence[int], tracker: int) -> BaseProcess:
    """Returns the process object that the program has made, in modules of this process's own."""
    Inherited.receive(files)
    vars(resource_tracker._resource_tracker)["_fd"] = tracker  # noqa: SLF001 - as spawn_main does
    current = vars(multiprocessing.current_process())
    current["_inheriting"] = True  # as multiprocessing.spawn: a process object is unpickled only then
    try:
        # The program's own data, over an anonymous socket.
        spawn.prepare(pickle.loads(base64.b64decode(job["preparation"])))  # noqa: S301
        if job["first"] is not None:
            module, _, name = job["first"][0].partition(":")
            vars(importlib.import_module(module))[name](pickle.loads(base64.b64decode(job["first"][1])))  # noqa: S301
        found: BaseProcess = pickle.loads(base64.b64decode(job["process"]))  # noqa: S301
    finally:
        del current["_inheriting"]
    return found


def _noting(run: Callable[[], None], texts: list[str]) -> Callable[[], None]:
    """Returns a function that calls another one, and adds to `texts` which error has ended it."""

    def noting() -> None:
        try:
            run()
        except SystemExit as ending:
            if ending.__context__ is not None:  # such as sys.exit in a handler, as torch's own functions have it
                texts.append(worded(ending.__context__))
            raise
        except BaseException as error:
            texts.append(worded(error))
            raise

    return noting
