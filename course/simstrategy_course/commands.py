"""The commands `simstrategy learn` and `simstrategy grade`: entry points of the group `simstrategy.commands`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import typer

import simstrategy as ss
from simstrategy_course.folder import COLUMNS, graded_rows, lines_of_csv, not_graded, submissions_in
from simstrategy_course.grading import grade as graded
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError, Lesson
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.reading import lesson_numbered, lessons
from simstrategy_course.submission import read_submission
from simstrategy_course.verdict import Verdict

__all__ = ["grade", "learn"]

_Number = Annotated[int | None, typer.Argument(help="Of the lesson; without it all lessons are listed.")]
_Seed = Annotated[str, typer.Option(help="A student's name or number: data of the file are drawn from it.")]
_Torch = Annotated[bool, typer.Option("--torch", help="Write the exercise in PyTorch alone: lesson_N_torch.py.")]
_Force = Annotated[bool, typer.Option("--force", help="Replace files that are there.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A file that learn wrote; with --csv, a folder of them.")]
_Lesson = Annotated[int | None, typer.Option(help="The number of the lesson, where the file does not name it.")]
_Output = Annotated[Path | None, typer.Option("--output", "-o", help="The page of the difference; default FILE.html.")]
_Json = Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")]
_Csv = Annotated[Path | None, typer.Option("--csv", help="Grade every submission of a folder, and write a table.")]
_Secret = Annotated[str, typer.Option(help="For lecturers: a word that changes the data on which files are graded.")]
_Backends = Annotated[
    str, typer.Option(help="Other backends to run on as well, separated by commas: names, or module:factory.")
]
_Seconds = Annotated[float, typer.Option(help="The time that a submission may take.", min=0.1)]
_Memory = Annotated[int, typer.Option(help="The memory in MB that a submission may take.", min=16)]

_PAGE_BEGINS: Final = b"<!DOCTYPE html>"
_NAMES_MAX: Final = 10
"""Of files that are not graded: they are all in the table."""


def learn(number: _Number = None, seed: _Seed = "", torch: _Torch = False, force: _Force = False) -> None:
    """Lists the lessons, or writes a lesson and its exercise into the current folder.

    lesson_N.md is the text, lesson_N.py the program with holes, and lesson_N_torch.py, with --torch, its exercise in
    PyTorch, where the lesson has one. Files that are there are not replaced.

    Exit code 0: listed or written. 2: not.
    """
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


def grade(
    file: _File,
    lesson: _Lesson = None,
    output: _Output = None,
    as_json: _Json = False,
    csv: _Csv = None,
    secret: _Secret = "",
    backends: _Backends = "",
    seconds: _Seconds = 10.0,
    memory: _Memory = 1024,
) -> None:
    """Grades an exercise: right, or which wrong idea it is, with a hint and a page that shows the difference.

    The file runs in a process of its own, on data that it does not have.

    Exit code 0: right. 1: not yet. 2: it could not be graded. With --csv, 0 when the table is written.
    """
    limits = Limits(seconds, memory << 20)
    if csv is not None:
        if backends:
            raise CourseError("--csv grades on the simulator alone. Leave --backends out.")
        _grade_folder(file, csv, limits, lesson, secret)
        return
    submission = read_submission(file, lesson)
    submission = submission._replace(lesson=submission.lesson.on(_installed(backends)))
    with Runner(limits) as runner:
        verdict = graded(submission, runner, secret=secret)
    # Only a page needs the player: the command line lists this command too.
    from simstrategy_course.page import page_of  # noqa: PLC0415

    page = page_of(submission, verdict)
    name = output if output is not None else file.with_suffix(".html")
    problem = _keep(page, name)
    _show(verdict, None if page is None or problem is not None else name, as_json=as_json)
    if problem is not None:
        raise CourseError(f"The page {str(name)!r} cannot be written: {problem}. Choose another place with -o.")
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


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
