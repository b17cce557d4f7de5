"""Grades all submissions of a folder: one row of a table for each file, whatever the file does."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from simstrategy.errors import BackendUnavailable
from simstrategy_course.grading import grade
from simstrategy_course.lesson import CourseError, printable
from simstrategy_course.observing import Runner
from simstrategy_course.submission import read_submission
from simstrategy_course.verdict import Verdict

__all__ = ["COLUMNS", "Found", "GradedRow", "graded_rows", "lines_of_csv", "not_graded", "submissions_in"]

COLUMNS: Final = ("file", "student", "lesson", "state", "points", "points_max", "idea", "detail")
_IDEA_MAX: Final = 300
_NAME_MAX: Final = 80
_NAMED: Final = re.compile(r"(.*)lesson[ _-]?(\d+).*\.py", re.IGNORECASE)
_WRITTEN: Final = (".py", ".ipynb")
"""The ends of names of what a student writes."""


class GradedRow(NamedTuple):
    """One file.  state: of the verdict, `unreadable` or `not graded`. idea: what is wrong, "" where nothing is.

    student: the seed of the file; without one, its folder, or what its name begins with. points: None where it was not
    graded. detail: what was seen of it first, such as the error.
    """

    file: str
    student: str
    lesson: int | None
    state: str
    points: int | None
    points_max: int | None
    idea: str
    detail: str = ""


class Found(NamedTuple):
    """The files of a folder.  submissions: named after a lesson. others: what a student may have meant to hand in."""

    submissions: list[Path]
    others: list[Path]


def submissions_in(folder: Path) -> Found:
    """Returns the files of a folder, and of those in it, in the order of their names.

    Hidden files are left out, and those that systems and Python add; of others, those of environments of Python. Raises
    CourseError where no file is named after a lesson.
    """
    files = sorted(one for one in folder.rglob("*") if one.suffix in _WRITTEN and not _is_added(one, folder))
    found = Found([one for one in files if _NAMED.fullmatch(one.name)], [])
    if not found.submissions:
        raise CourseError(f"No file in {str(folder)!r} is named after a lesson, such as anna/lesson_3.py.")
    environments = {one.parent for one in folder.rglob("pyvenv.cfg")}
    others = (one for one in files if environments.isdisjoint(one.parents))
    return found._replace(others=[one for one in others if one not in found.submissions])


def _is_added(file: Path, folder: Path) -> bool:
    """Returns whether a file is hidden, or in a folder such as `__pycache__` and `__MACOSX`."""
    *folders, name = file.relative_to(folder).parts
    return name.startswith(".") or any(one.startswith((".", "__")) for one in folders)


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
            row = GradedRow(name, _owner_of(name), None, "unreadable", 0, None, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a file causes, the others are graded
            idea = f"the grader failed: {type(error).__name__}: {error}"
            row = GradedRow(name, _owner_of(name), None, "unreadable", 0, None, printable(idea, _IDEA_MAX))
        yield row


def not_graded(file: Path, folder: Path) -> GradedRow:
    """Returns the row of a file that no lesson is known of."""
    name = file.relative_to(folder).as_posix()
    return GradedRow(name, _owner_of(name), None, "not graded", None, None, "its name has no lesson, as in lesson_3.py")


def _owner_of(name: str) -> str:
    """Returns whose file it seems to be: the first folder, or what stands before `lesson` in its name."""
    folder, slash, _ = name.partition("/")
    named = _NAMED.fullmatch(name)
    return printable(folder if slash else named[1].strip(" _-") if named else "", _NAME_MAX)


def _row(name: str, verdict: Verdict) -> GradedRow:
    lesson, idea = verdict.lesson.number, verdict.idea
    right = sum(bool(one.right) for one in verdict.answers)
    open_ = "" if right == len(verdict.answers) else f"{right} of {len(verdict.answers)} questions right"
    detail = "" if idea is None else printable(" ".join(idea.facts), _IDEA_MAX)
    named = _NAMED.fullmatch(name)
    if named is not None and int(named[2]) != lesson:
        detail = f"The file is of lesson {lesson}, and its name has {named[2]}. {detail}".rstrip()
    student, wrong = verdict.student or _owner_of(name), open_ if idea is None else idea.name
    return GradedRow(name, student, lesson, verdict.state, verdict.points, verdict.points_max, wrong, detail)


def lines_of_csv(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as lines of CSV.  A text that a spreadsheet would compute gets an apostrophe."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_plain(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _plain(cell: object) -> object:
    return (
        f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else "" if cell is None else cell
    )
