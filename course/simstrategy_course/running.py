"""Runs a lesson's program and records it, in the same way with a student's functions and with the solution's.

Nothing here judges. It runs in the process of a submission too, so it reads no file of the course.
"""

import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

import simstrategy as ss
from simstrategy.trace import Recorder, Recording
from simstrategy_course.lesson import Setting

__all__ = ["PROGRAM", "Data", "Failure", "Run", "failure_of", "module_of", "run_recorded"]

PROGRAM: Final = "program.py"
"""The name of the lesson's own part of a file: what calls the student's functions."""

_TEXT_MAX: Final = 2000
_LEAVES_MAX: Final = 1000

Data = Mapping[str, np.ndarray[Any, Any]]
"""The arrays that a program receives, by name."""


class Failure(NamedTuple):
    """An exception: its class, its text, and the last line of the student's file on its way, if there is one."""

    name: str
    text: str
    line: int | None


class Run(NamedTuple):
    """One run.  recording: None where there is none that can be read."""

    setting: Setting
    recording: Recording | None
    failure: Failure | None


def module_of(text: str, file: Path) -> ModuleType:
    """Executes the text of a Python file and returns its module.  file: the name that its call sites have."""
    module = ModuleType(file.stem)
    vars(module)["__file__"] = str(file)
    exec(compile(text, str(file), "exec"), vars(module))  # noqa: S102 - a program is text that is executed
    return module


def failure_of(error: BaseException, file: Path) -> Failure:
    """Returns an exception as data.  file: of the student, whose last line on its way is kept."""
    lines = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
    if isinstance(error, SyntaxError) and error.filename == str(file) and error.lineno:
        lines.append(error.lineno)
    text = str(error).replace(f"{file.parent}/", "")
    return Failure(type(error).__name__, text[:_TEXT_MAX], lines[-1] if lines else None)


def run_recorded(
    program: Callable[[ss.Strategy, Data], Any], setting: Setting, data: Data, recorder: Recorder, file: Path
) -> Failure | None:
    """Runs `program(strategy, data)` once and records it; returns how it failed, or None.

    data: arrays [any shape] by name. file: of the student. An exception of any kind is a failure.
    """
    recorder.describe(order=setting.order)
    settings = {
        "semantics": getattr(ss.Semantics, setting.semantics),
        "schedule": _schedule(setting),
        "trace": recorder,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = _results(program, setting, data, settings)
            leaves = [list(_leaves("result", result)) for result in results]
    except (Exception, SystemExit) as error:  # noqa: BLE001 - of a student's program
        failure = failure_of(error, file)
        recorder.ended(0, [], (failure.name, failure.text))
        return failure
    for worker, found in enumerate(leaves):
        recorder.ended(worker, found[:_LEAVES_MAX])
    return None


def _results(
    program: Callable[[ss.Strategy, Data], Any], setting: Setting, data: Data, settings: Mapping[str, Any]
) -> Sequence[Any]:
    if setting.workers > 1:
        cluster = ss.sim.Cluster(setting.workers, setting.replicas, order=setting.order, **settings)
        return cluster.run(lambda strategy: program(strategy, data))
    order = {} if setting.order == Setting(1).order else {"order": setting.order}
    backend = ss.backend(setting.backend, replicas=setting.replicas, **order)
    return (program(ss.Strategy.mirrored(backend, **settings), data),)


def _schedule(setting: Setting) -> ss.schedules.Schedule:
    kind, _, seed = setting.schedule.partition(":")
    return ss.schedules.Seeded(int(seed)) if kind == "seeded" else ss.schedules.InOrder()


def _leaves(path: str, value: object) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yields the values of a result with their names; what is no number stands there as a text of its type."""
    if isinstance(value, Mapping):
        for name in value:
            yield from _leaves(str(name), value[name])
    elif isinstance(value, ss.PerReplica | ss.Mirrored):
        for replica, one in enumerate(value.values):
            yield from _leaves(f"{path}, replica {replica}", one)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from _leaves(f"{path} {number}", one)
    else:
        yield path, _host(value)


def _host(value: object) -> np.ndarray[Any, Any]:
    """Returns a value as an array of the host [any shape]; what is no number as the text of its type."""
    try:
        array = np.asarray(value)
    except Exception:  # noqa: BLE001 - any object may be a result
        array = np.asarray(None)
    return np.array(array) if array.dtype.kind in "biuf" else np.asarray(f"a value of type {type(value).__name__}")
