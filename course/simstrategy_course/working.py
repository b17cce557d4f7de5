"""What the commands do: write a lesson into the current folder, and grade files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import typer

import simstrategy as ss
from simstrategy_course.folder import COLUMNS, graded_rows, lines_of_csv, not_graded, submissions_in
from simstrategy_course.grading import grade as graded
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError, Lesson
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.page import page_of
from simstrategy_course.reading import lesson_numbered, lessons
from simstrategy_course.submission import read_submission
from simstrategy_course.verdict import Verdict

__all__ = ["Graded", "grade_file", "learn_lesson"]

_PAGE_BEGINS: Final = b"<!DOCTYPE html>"
_NAMES_MAX: Final = 10
"""Of files that are not graded: they are all in the table."""


def learn_lesson(number: int | None, seed: str, *, torch: bool, force: bool) -> None:
    """Lists the lessons, or writes a lesson and its exercise.  Raises CourseError where another file is there."""
    if number is None:
        for one in _lines(lessons()):
            typer.echo(one)
        return
    lesson = lesson_numbered(number)
    exercise = Path(f"lesson_{number}_torch.py" if torch else f"lesson_{number}.py")
    if torch:
        texts = {exercise: template_of(lesson.in_torch.torch_solution, seed)}
    else:
        texts = {Path(f"lesson_{number}.md"): lesson.text, exercise: template_of(lesson.solution, seed)}
    there = [file.name for file, text in texts.items() if file.exists() and not _holds(file, text)]
    if there and not force:
        verb = "is" if len(there) == 1 else "are"
        raise CourseError(
            f"{' and '.join(there)} {verb} here already, with other contents. Nothing was written. Work in another "
            f"folder, or pass --force to replace what is there."
        )
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    typer.echo(f"Lesson {number}: {lesson.title} ({lesson.minutes} minutes).")
    typer.echo(f"Read lesson_{number}.md, fill the holes of {exercise}, and run:")
    typer.echo(f"  simstrategy grade {exercise}")


def _lines(every: tuple[Lesson, ...]) -> Iterator[str]:
    yield "lesson  minutes  title"
    for one in every:
        yield f"{one.number:>6}  {one.minutes:>7}  {one.title}"
    yield f"Together {sum(one.minutes for one in every)} minutes. Begin with: simstrategy learn {every[0].number}"


def _holds(file: Path, text: str) -> bool:
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


class Graded(NamedTuple):
    """What is to be graded: the options of the command `grade`.  seconds, memory: limits; memory in bytes."""

    file: Path
    lesson: int | None
    output: Path | None
    csv: Path | None
    secret: str
    backends: str
    seconds: float
    memory: int
    as_json: bool


def grade_file(asked: Graded) -> int:
    """Grades a file or a folder, and returns the exit code.  Raises CourseError where it cannot be graded."""
    limits = Limits(asked.seconds, asked.memory)
    if asked.csv is not None:
        if asked.backends:
            raise CourseError("--csv grades on the simulator alone. Leave --backends out.")
        _grade_folder(asked.file, asked.csv, limits, asked.lesson, asked.secret)
        return 0
    submission = read_submission(asked.file, asked.lesson)
    submission = submission._replace(lesson=submission.lesson.on(_installed(asked.backends)))
    with Runner(limits) as runner:
        verdict = graded(submission, runner, secret=asked.secret)
    page = page_of(submission, verdict)
    name = asked.output if asked.output is not None else asked.file.with_suffix(".html")
    problem = _keep(page, name)
    _show(verdict, None if page is None or problem is not None else name, as_json=asked.as_json)
    if problem is not None:
        raise CourseError(f"The page {str(name)!r} cannot be written: {problem}. Choose another place with -o.")
    return verdict.exit_code


def _keep(page: str | None, file: Path) -> OSError | None:
    """Writes a page; where there is none, removes that of an earlier grading.  Returns why it cannot be written."""
    try:
        if page is not None:
            file.write_text(page, encoding="utf-8")
        elif _is_page(file):
            file.unlink()
    except OSError as error:
        return error
    return None


def _is_page(file: Path) -> bool:
    """Returns whether a file begins as the pages do: another file of this name is not removed."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(_PAGE_BEGINS)) == _PAGE_BEGINS


def _installed(text: str) -> list[str]:
    """Returns the names in a list of backends.  Raises CourseError for one that is not installed."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    missing = [name for name in names if ":" not in name and name not in ss.backends()]
    if missing:
        raise CourseError(f"No backend {', '.join(missing)} is installed. See `simstrategy backends`.")
    return names


def _show(verdict: Verdict, page: Path | None, *, as_json: bool) -> None:
    if as_json:
        data = verdict.as_data() | {"page": None if page is None else str(page)}
        typer.echo(json.dumps(data, ensure_ascii=False, indent=1))
        return
    for line in verdict.lines():
        typer.echo(line)
    if page is not None:
        typer.echo(f"Page: {page}. Open it in a browser: it shows the run in which the difference is.")


def _grade_folder(folder: Path, csv: Path, limits: Limits, lesson: int | None, secret: str) -> None:
    if not folder.is_dir():
        raise CourseError(f"--csv grades a folder of submissions, and {str(folder)!r} is no folder.")
    files, others = submissions_in(folder)
    passed = 0
    try:
        stream = csv.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise CourseError(
            f"The table {str(csv)!r} cannot be written: {error.strerror}. Choose another place."
        ) from error
    with stream, Runner(limits) as runner:
        stream.write(lines_of_csv([COLUMNS]))
        for row in graded_rows(files, folder, runner, lesson=lesson, secret=secret):
            stream.write(lines_of_csv([row]))
            stream.flush()  # a table of a folder that was graded in part is of use too
            passed += row.state == "passed"
            typer.echo(f"{row.file}: {row.state}, {row.points} points{f', {row.idea}' if row.idea else ''}")
        stream.write(lines_of_csv(not_graded(one, folder) for one in others))
    if others:
        names = [one.relative_to(folder).as_posix() for one in others[:_NAMES_MAX]]
        names += [f"{len(others) - _NAMES_MAX} more"] if len(others) > _NAMES_MAX else []
        typer.echo(f"Not graded, for the reasons in the table: {', '.join(names)}.")
    typer.echo(f"{csv}: {len(files)} submissions, {passed} passed.")
