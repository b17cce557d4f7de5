"""How a submission in PyTorch is run: by `simstrategy torchrun`, on each number of ranks of its lesson.

The command is that of another distribution, which imports PyTorch; here it is a process.
"""

import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

from simstrategy.trace import Recorder, Recording
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError, Setting, TorchPart, printable
from simstrategy_course.rank import JOB, rank_name
from simstrategy_course.reading import LESSONS
from simstrategy_course.running import PROGRAM, Data, Failure, Run
from simstrategy_course.submission import Submission

__all__ = ["Command", "runs_on_ranks", "torchrun"]

Command = Callable[[Sequence[str], Path, float], object]
"""Runs `simstrategy torchrun` with arguments, in a folder; raises subprocess.TimeoutExpired after so many seconds.

It is called from several threads at a time.
"""

_NEEDED: Final = ("torch", "simstrategy_torch_distributed")
_SCRIPT: Final = "on_rank.py"
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
_MISSING_CALL: Final = "Ranks wait for calls that no rank will make."
"""How the text of a ReplicasBlocked begins that is a ReplicasDisagree on the simulator: a rank leaves a call out."""
_AFTERWARDS: Final = ("PeerFailed", "ReplicasBlocked")
"""Errors that a rank has because of another one, where that one has an error of its own."""


def torchrun(arguments: Sequence[str], folder: Path, limit_s: float) -> object:
    """Runs the command in a process; what it prints is dropped.

    Raises CourseError where PyTorch is not installed, and subprocess.TimeoutExpired after `limit_s` seconds.
    """
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise CourseError(
            f"This exercise needs {' and '.join(missing)}, not installed here. Install PyTorch, and simstrategy's "
            f"distribution for torch.distributed."
        )
    command = [sys.executable, "-m", "simstrategy_torch_distributed", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=limit_s, check=False)


def runs_on_ranks(
    submission: Submission, data: Data, closed: Sequence[Path], limits: Mapping[str, Any], command: Command
) -> tuple[tuple[Run, ...], list[str]]:
    """Returns the runs of a submission, of each setting, and what it tried to read of the grader.

    data: arrays [any shape] by name. closed: files and folders that it may not read. limits: `seconds` and
    `memory_bytes` of each rank. command: what runs simstrategy torchrun.
    """
    part = submission.lesson.torch
    assert part is not None
    settings = submission.lesson.settings
    folder = Path(tempfile.mkdtemp(prefix="simstrategy-grade-"))
    folders = [folder / str(number) for number in range(len(settings))]

    def ran(one: Path, setting: Setting) -> list[Mapping[str, Any]]:
        _prepare(one, submission, part, data, closed, limits)
        return _left(one, setting, command, limits["seconds"])

    try:
        # Side by side: most of a run's time is the import of PyTorch.
        with ThreadPoolExecutor(len(settings)) as pool:
            found = list(pool.map(ran, folders, settings))
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
        (_SCRIPT, _BEGIN.format(folder=str(folder))),
    ):
        (folder / str(name)).write_text(text, encoding="utf-8")


def _left(folder: Path, setting: Setting, command: Command, seconds: float) -> list[Mapping[str, Any]]:
    """Runs a submission with one setting; returns what each rank has left, in rank order."""
    files = [folder / rank_name(number) for number in range(setting.ranks)]
    ranks = ("--nproc-per-node", str(setting.ranks), "--limit-seconds", str(seconds))
    try:
        command([*ranks, _SCRIPT], folder, seconds + _START_S)
    except subprocess.TimeoutExpired:
        return [{"failure": ["TimeLimit", "", None]}]
    return [_read(file) for file in files]


def _read(file: Path) -> Mapping[str, Any]:
    """Returns what a rank has left; of one that left nothing that can be read, that its process ended."""
    ended = {"failure": ["ProcessEnded", "", None]}
    if file.is_symlink() or not file.is_file() or os.stat(file).st_size > _BYTES_MAX:
        return ended
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return ended
    return found if isinstance(found, dict) else ended


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
