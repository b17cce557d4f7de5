"""Grades all submissions of a folder: one row of a table for each file, whatever the file does."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.errors import BackendUnavailable
from simstrategy_course.grading import grade
from simstrategy_course.lesson import CourseError, printable
from simstrategy_course.observing import Runner
from simstrategy_course.submission import read_submission
from simstrategy_course.verdict import Verdict

__all__ = ["COLUMNS", "GradedRow", "as_csv", "graded_rows", "submissions_in"]

COLUMNS: Final = ("file", "student", "lesson", "state", "points", "points_max", "idea")
_IDEA_MAX: Final = 300
_NAMED: Final = re.compile(r".*lesson_\d+.*\.py")


class GradedRow(NamedTuple):
    """One file.  state: of the verdict, or `unreadable`. idea: what is wrong, "" where nothing is."""

    file: str
    student: str
    lesson: int | None
    state: str
    points: int
    points_max: int | None
    idea: str


def submissions_in(folder: Path) -> list[Path]:
    """Returns the files of a folder, and of those in it, that are named after a lesson, in the order of their names.

    Raises CourseError where there are none.
    """
    found = sorted(one for one in folder.rglob("*.py") if _NAMED.fullmatch(one.name))
    if not found:
        raise CourseError(f"No file in {str(folder)!r} is named after a lesson, such as anna/lesson_3.py.")
    return found


def graded_rows(
    files: Sequence[Path], folder: Path, runner: Runner, *, lesson: int | None = None, secret: str = ""
) -> Iterator[GradedRow]:
    """Yields a row for each file when it is graded.  A file that cannot be read has no points, and the next follows."""
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            submission = read_submission(file, lesson)
            others = [one for one in files if one != file]
            row = _row(name, grade(submission, runner, secret=secret, closed=others))
        except BackendUnavailable:  # of this machine, and not of a file
            raise
        except CourseError as error:
            row = GradedRow(name, "", None, "unreadable", 0, None, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a file causes, the others are graded
            idea = f"the grader failed: {type(error).__name__}: {error}"
            row = GradedRow(name, "", None, "unreadable", 0, None, printable(idea, _IDEA_MAX))
        yield row


def _row(name: str, verdict: Verdict) -> GradedRow:
    idea = "" if verdict.idea is None else verdict.idea.name
    earned = verdict.points, verdict.points_max
    return GradedRow(name, verdict.student, verdict.lesson.number, verdict.state, *earned, idea)


def as_csv(rows: Sequence[GradedRow]) -> str:
    """Returns the rows as CSV with a line of names.  A text that a spreadsheet would compute gets an apostrophe."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_plain(cell) for cell in row])
    return stream.getvalue()


def _plain(cell: object) -> object:
    return (
        f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else "" if cell is None else cell
    )
