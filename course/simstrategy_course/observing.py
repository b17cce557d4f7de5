"""How a submission is run: in a process of its own, with limits, on data that its author has not seen."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, final

import numpy as np

from simstrategy.launch import JobResult, Launcher
from simstrategy.trace import Recorder, Recording, read
from simstrategy_course.child import recording_name
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import SIMULATOR, Lesson, printable
from simstrategy_course.on_ranks import Command, runs_on_ranks, torch_runs
from simstrategy_course.reading import LESSONS
from simstrategy_course.running import PROGRAM, Data, Failure, Run, module_of, run_recorded
from simstrategy_course.submission import Submission

__all__ = ["Limits", "Observed", "Runner", "data_of", "trusted_runs"]

_USED: Final = ("simstrategy.nn", "simstrategy.sim")
"""What submissions use of the names that are imported on their first use, which would be in each of their processes."""
_BYTES_MAX: Final = 64_000_000
"""Of a recording that is read."""
_NAME_MAX: Final = 80
_TEXT_MAX: Final = 2000


class Limits(NamedTuple):
    """Of one submission.  seconds: of time, for all its runs together. memory_bytes: beyond what it starts with."""

    seconds: float = 10.0
    memory_bytes: int = 1 << 30


class Observed(NamedTuple):
    """What was seen of a submission.

    failure: why there are no runs; None where there are. refused: what it tried to read of the grader.
    """

    runs: tuple[Run, ...]
    failure: Failure | None
    refused: tuple[str, ...] = ()


@final
class Runner:
    """Runs submissions one after the other, each in a new process; use it as a context manager.

    command: what runs those in PyTorch on simulated ranks.
    `observe` raises BackendUnavailable where the system is not Linux.
    """

    def __init__(self, limits: Limits | None = None, command: Command = torch_runs) -> None:
        self.limits = Limits() if limits is None else limits
        self._command = command
        self._started: Launcher | None = None

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._started is not None:
            self._started.close()

    @property
    def _launcher(self) -> Launcher:
        """What starts the processes; it is started itself when the first submission is run."""
        if self._started is None:
            self._started = Launcher(1, preload=["simstrategy_course.child", *_USED])
        return self._started

    def observe(self, submission: Submission, data: Data, *, closed: Sequence[Path] = ()) -> Observed:
        """Runs a submission with every setting of its lesson.  data: arrays [any shape] by name.

        closed: files and folders that it may not read, besides the lessons.
        """
        if submission.in_torch:
            runs, refused = runs_on_ranks(submission, data, closed, self.limits._asdict(), self._command)
            return Observed(runs, None, tuple(dict.fromkeys(refused)))
        lesson = submission.lesson
        folder = Path(tempfile.mkdtemp(dir=self._launcher.folder))
        file = folder / f"lesson_{lesson.number}.py"
        file.write_text(submission.text, encoding="utf-8")
        (folder / PROGRAM).write_text(template_of(lesson.solution), encoding="utf-8")
        job = {
            "folder": str(folder),
            "file": file.name,
            "functions": lesson.functions,
            "settings": lesson.settings,
            "data": {name: _as_json(array) for name, array in data.items()},
            "closed": [str(LESSONS), *map(str, closed)],
            **self.limits._asdict(),
        }
        try:
            where = "simstrategy_course.child:observed"
            (result,) = self._launcher.run(where, [job], timeout_s=self.limits.seconds)
            return _observed(result, lesson, folder)
        finally:
            self._launcher.restart_workers()  # nothing of one submission reaches the next
            shutil.rmtree(folder, ignore_errors=True)


def _as_json(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.name, "shape": array.shape, "elements": array.reshape(-1).tolist()}


def _observed(result: JobResult, lesson: Lesson, folder: Path) -> Observed:
    """Returns what a job left.  Everything in it may be forged: its form is checked, and the rest is judged later."""
    if result.timed_out:
        return Observed((), Failure("TimeLimit", "", None))
    answer: Mapping[str, Any] = result.value if isinstance(result.value, dict) else {}
    failures, refused = answer.get("runs"), answer.get("refused")
    seen = (
        tuple(printable(one, _TEXT_MAX) for one in refused if isinstance(one, str)) if isinstance(refused, list) else ()
    )
    if result.code is not None or not isinstance(failures, list):
        text = "" if result.error is None else f"{result.error[0]}: {result.error[1]}"
        return Observed((), Failure("ProcessEnded", text or f"exit code {result.code}", None), seen)
    loading = _failure(answer.get("loading"))
    if loading is not None or len(failures) != len(lesson.settings):
        return Observed((), loading or Failure("ProcessEnded", "not every run was made", None), seen)
    runs = [
        Run(setting, _recording(folder / recording_name(number)), _failure(failure))
        for number, (setting, failure) in enumerate(zip(lesson.settings, failures, strict=True))
    ]
    return Observed(tuple(runs), None, seen)


def _failure(given: object) -> Failure | None:
    match given:
        case [str(name), str(text), int() | None as line]:
            return Failure(printable(name, _NAME_MAX).replace("\n", " "), printable(text, _TEXT_MAX), line)
    return None


def _recording(file: Path) -> Recording | None:
    """Returns a recording that a submission's process left; None for one that cannot be read."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _BYTES_MAX:
        return None
    try:
        return read(file)
    except (ValueError, TypeError, KeyError, ArithmeticError, RecursionError, MemoryError):
        return None


@cache
def _drawn(lesson: Lesson, seed: str) -> Data:
    found: Data = vars(module_of(lesson.solution, Path(PROGRAM)))["draw"](seed)
    return found


def data_of(lesson: Lesson, student: str, secret: str = "") -> Data:
    """Returns the data on which a student's file is graded: arrays [any shape] by name, the same in every grading.

    student: the seed of the file. secret: a word of the lecturer, without which the data cannot be known.
    """
    return _drawn(lesson, f"graded {lesson.number} {student} {secret}")


@cache
def trusted_runs(lesson: Lesson, text: str, student: str, secret: str = "") -> tuple[Run, ...]:
    """Returns the runs of the solution, or of a known wrong answer, in this process.  text: of the program.

    They are made on the simulator, also for runs of a submission on another backend.
    """
    folder = Path("/course")  # no folder of this machine: it stands in call sites alone
    file = folder / f"lesson_{lesson.number}.py"
    program = vars(module_of(text, file))["program"]
    runs = []
    for setting in lesson.settings:
        recorder = Recorder(root=folder)
        simulated = setting._replace(backend=SIMULATOR)
        failure = run_recorded(program, simulated, data_of(lesson, student, secret), recorder, file)
        runs.append(Run(setting, recorder.recording(), failure))
    return tuple(runs)
