"""How a submission in PyTorch is run: on simulated ranks, on each number of ranks of its lesson.

They are another distribution's, which imports PyTorch; here they are a process.
"""

import importlib
import importlib.util
import json
import math
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import numpy as np

from simstrategy.trace import Recorder, Recording
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError, Setting, TorchPart, printable
from simstrategy_course.rank import JOB, SCRIPT, rank_name
from simstrategy_course.reading import LESSONS
from simstrategy_course.running import PROGRAM, Data, Failure, Run
from simstrategy_course.submission import Submission

__all__ = ["Command", "runs_on_ranks", "torch_runs"]

Command = Callable[[Sequence[tuple[Path, int]], float], None]
"""Runs the script of each folder on so many simulated ranks, for so many seconds each.

Raises TimeoutError when one takes longer; what has run then has left its files.
"""

_NEEDED: Final = ("torch", "simstrategy_torch_distributed")
_THREADED: Final = ("jax", "tensorflow", "torch")
"""Modules that start threads."""
_RUNS: Final = "simstrategy_course.torch_runs"
"""Imported by the process of the runs alone: it needs PyTorch."""
_BEGIN: Final = """\
from pathlib import Path

import torch.distributed as dist

from simstrategy_course.rank import run

dist.init_process_group("gloo")
run(Path({folder!r}), dist.get_rank())
"""
_START_S: Final = 60.0
"""How long PyTorch may take to be imported, beyond the limit of a submission."""
_BYTES_MAX: Final = 1_000_000
"""Of the file of a rank that is read."""
_SIZE_MAX: Final = 10_000
_TEXT_MAX: Final = 2000
_TOO_LONG: Final = 3
"""The exit code of a process of which a run took longer than it may."""
_ENDED: Final = {"failure": ["ProcessEnded", "", None]}
_TIMED_OUT: Final = {"failure": ["TimeLimit", "", None]}
_MISSING_CALL: Final = "Ranks wait for calls that no rank will make."
"""How the text of a ReplicasBlocked begins that is a ReplicasDisagree on the simulator: a rank leaves a call out."""
_AFTERWARDS: Final = ("PeerFailed", "ReplicasBlocked")
"""Errors that a rank has because of another one, where that one has an error of its own."""


def torch_runs(runs: Sequence[tuple[Path, int]], seconds: float) -> None:
    """Runs scripts in a process of its own; what they print is dropped.

    Raises CourseError where PyTorch is not installed, and TimeoutError when one takes longer than `seconds`.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CourseError(
            f"This exercise needs {' and '.join(missing)}, not installed here. Install PyTorch, and simstrategy's "
            f"distribution for torch.distributed."
        )
    context: Any = multiprocessing.get_context("fork" if _can_fork() else "spawn")
    process = context.Process(target=_quietly, args=(runs, seconds))
    process.start()
    process.join(_START_S + 2 * len(runs) * seconds)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError
    if process.exitcode == _TOO_LONG:
        raise TimeoutError


def _can_fork() -> bool:
    """Returns whether this process has one thread, as that of the command: a fork of several may wait for ever."""
    return threading.active_count() == 1 and sys.modules.keys().isdisjoint(_THREADED)


def _quietly(runs: Sequence[tuple[Path, int]], seconds: float) -> None:
    """Runs scripts in this process, whose output is dropped from now on."""
    with open(os.devnull, "r+", encoding="utf-8") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        for stream in range(3):
            os.dup2(nothing.fileno(), stream)
        run_each = vars(importlib.import_module(_RUNS))["run_each"]
        if not run_each(runs, seconds):
            sys.exit(_TOO_LONG)


def runs_on_ranks(
    submission: Submission, data: Data, closed: Sequence[Path], limits: Mapping[str, Any], command: Command
) -> tuple[tuple[Run, ...], list[str]]:
    """Returns the runs of a submission, of each setting, and what it tried to read of the grader.

    data: arrays [any shape] by name. closed: files and folders that it may not read. limits: `seconds` and
    `memory_bytes` of each rank. command: what runs scripts on ranks.
    """
    part = submission.lesson.torch
    assert part is not None
    settings = submission.lesson.settings
    folder = Path(tempfile.mkdtemp(prefix="simstrategy-grade-"))
    runs = [(folder / str(number), setting.ranks) for number, setting in enumerate(settings)]
    try:
        for one, _ in runs:
            _prepare(one, submission, part, data, closed, limits)
        try:
            command(runs, limits["seconds"])
            otherwise = _ENDED
        except TimeoutError:
            otherwise = _TIMED_OUT
        found = [[_read(one / rank_name(number), otherwise) for number in range(ranks)] for one, ranks in runs]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    refused = [printable(one, _TEXT_MAX) for left in found for rank in left for one in _texts(rank.get("refused"))]
    return tuple(_run(left, setting, part) for left, setting in zip(found, settings, strict=True)), refused


def _run(left: Sequence[Mapping[str, Any]], setting: Setting, part: TorchPart) -> Run:
    failure = _failure(left)
    return Run(setting, None if failure else _recording(left, part), failure)


def _prepare(
    folder: Path, submission: Submission, part: TorchPart, data: Data, closed: Sequence[Path], limits: Mapping[str, Any]
) -> None:
    lesson = submission.lesson
    job = {
        "file": f"lesson_{lesson.number}_torch.py",
        "functions": part.functions,
        "data": {
            name: {"dtype": one.dtype.name, "shape": one.shape, "elements": one.reshape(-1).tolist()}
            for name, one in data.items()
        },
        "closed": [str(LESSONS), *map(str, closed)],
        **limits,
    }
    folder.mkdir()
    for name, text in (
        (job["file"], submission.text),
        (PROGRAM, template_of(lesson.torch_solution)),
        (JOB, json.dumps(job)),
        (SCRIPT, _BEGIN.format(folder=str(folder))),
    ):
        (folder / str(name)).write_text(text, encoding="utf-8")


def _read(file: Path, otherwise: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns what a rank has left.  otherwise: for one that left nothing that can be read."""
    if file.is_symlink() or not file.is_file() or os.stat(file).st_size > _BYTES_MAX:
        return otherwise
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return otherwise
    return found if isinstance(found, dict) else otherwise


def _texts(given: object) -> list[str]:
    return [one for one in given if isinstance(one, str)] if isinstance(given, list) else []


def _failure(left: Sequence[Mapping[str, Any]]) -> Failure | None:
    """Returns how the ranks failed, None where none did: an error of a rank alone, before one that others caused."""
    found = []
    for rank in left:
        match rank.get("failure"):
            case [str(name), str(text), int() | None as line]:
                name = "ReplicasDisagree" if text.startswith(_MISSING_CALL) else name
                found.append(Failure(printable(name, _TEXT_MAX), printable(text, _TEXT_MAX), line))
            case None if isinstance(rank.get("results"), dict):
                continue
            case _:
                found.append(Failure("ProcessEnded", "", None))
    found.sort(key=lambda one: (one.name in _AFTERWARDS, one.name == "ProcessEnded"))
    return found[0] if found else None


def _recording(left: Sequence[Mapping[str, Any]], part: TorchPart) -> Recording | None:
    """Returns the results of all ranks, under the names that they have in the solution's runs."""
    leaves: dict[str, np.ndarray[Any, Any]] = {}
    for number, rank in enumerate(left):
        for name, one in rank["results"].items():
            array = _array(one)
            if array is None:
                return None
            shown = part.names.format(name=name, rank=number)
            leaves.setdefault(shown if len(left) > 1 else shown.removesuffix(", replica 0"), array)
    recorder = Recorder()
    recorder.ended(0, [*leaves.items()])
    return recorder.recording()


def _array(given: object) -> np.ndarray[Any, Any] | None:
    """Returns an array [any shape] that a rank has left as JSON; None for what is none."""
    match given:
        case {"dtype": str(dtype), "shape": [*shape], "elements": [*elements]}:
            sizes = [one for one in shape if isinstance(one, int) and 0 <= one <= _SIZE_MAX]
            if len(sizes) == len(shape) and math.prod(sizes) == len(elements) <= _SIZE_MAX:
                try:
                    return np.asarray(elements, dtype).reshape(sizes)
                except (TypeError, ValueError, OverflowError):
                    return None
    return None
