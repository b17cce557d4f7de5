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
from simstrategy_course.reading import lesson_numbered
from simstrategy_course.submission import read_submission
from simstrategy_course.verdict import POINTS_EXERCISE, Verdict

__all__ = ["COLUMNS", "Found", "GradedRow", "graded_rows", "lines_of_csv", "not_graded", "submissions_in"]

COLUMNS: Final = ("file", "student", "lesson", "state", "points", "points_max", "idea", "detail", "questions")
_IDEA_MAX: Final = 300
_NAME_MAX: Final = 80
_NAMED: Final = re.compile(r"(.*)lesson[ _-]?(\d+).*\.py", re.IGNORECASE)
_WRITTEN: Final = (".py", ".ipynb")
"""The ends of names of what a student writes."""
_OURS: Final = (".md", ".html")
"""The ends of names of what `learn` and `grade` write beside it."""
_MEANT: Final = re.compile(r".*lesson[ _-]?\d+.*", re.IGNORECASE)


class GradedRow(NamedTuple):
    """One file.  state: of the verdict, `unreadable` or `not graded`. idea: what is wrong, "" where nothing is.

    student: the seed of the file; without one, its folder, or what its name begins with. points: None where it was not
    graded. detail: what was seen of it first, such as the error. questions: those without a right answer.
    """

    file: str
    student: str
    lesson: int | None
    state: str
    points: int | None
    points_max: int | None
    idea: str
    detail: str = ""
    questions: str = ""


class Found(NamedTuple):
    """The files of a folder.  submissions: named after a lesson. others: what a student may have meant to hand in."""

    submissions: list[Path]
    others: list[Path]


def submissions_in(folder: Path) -> Found:
    """Returns the files of a folder, and of those in it, in the order of their names.

    Hidden files are left out, and those that systems and Python add; of others, those of environments of Python. Raises
    CourseError where no file is named after a lesson.
    """
    files = sorted(one for one in folder.rglob("*") if _is_written(one) and not _is_added(one, folder))
    found = Found([one for one in files if _NAMED.fullmatch(one.name)], [])
    if not found.submissions:
        raise CourseError(f"No file in {str(folder)!r} is named after a lesson, such as anna/lesson_3.py.")
    environments = {one.parent for one in folder.rglob("pyvenv.cfg")}
    others = (one for one in files if environments.isdisjoint(one.parents))
    return found._replace(others=[one for one in others if one not in found.submissions])


def _is_written(file: Path) -> bool:
    end = file.suffix.lower()
    return end in _WRITTEN or (end not in _OURS and _MEANT.fullmatch(file.name) is not None and file.is_file())


def _is_added(file: Path, folder: Path) -> bool:
    """Returns whether a file is hidden, or in a folder such as `__pycache__` and `__MACOSX`."""
    *folders, name = file.relative_to(folder).parts
    return name.startswith(".") or any(one.startswith((".", "__")) for one in folders)


def graded_rows(
    files: Sequence[Path], folder: Path, runner: Runner, *, lesson: int | None = None, secret: str = ""
) -> Iterator[GradedRow]:
    """Yields a row for each file when it is graded.  A file that cannot be read has no points, and the next follows.

    lesson: of the files whose names have it; the others are of the lesson that they name themselves.
    """
    seen: dict[tuple[str, int | None], str] = {}
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            submission = read_submission(file, lesson if lesson == _number_in(name) else None)
            others = [one for one in files if one != file]
            row = _row(name, grade(submission, runner, secret=secret, closed=others))
        except BackendUnavailable:  # of this machine, and not of a file
            raise
        except CourseError as error:
            row = _unreadable(name, str(error))
        except Exception as error:  # noqa: BLE001 - whatever a file causes, the others are graded
            row = _unreadable(name, printable(f"the grader failed: {type(error).__name__}: {error}", _IDEA_MAX))
        other = seen.setdefault((row.student, row.lesson), name)
        if row.student and other != name:
            row = row._replace(detail=f"{other} is of this student and lesson, too. {row.detail}".rstrip())
        yield row


def _unreadable(name: str, idea: str) -> GradedRow:
    """Returns the row of a file that could not be graded, with the lesson of its name."""
    number = _number_in(name)
    try:
        points_max = None if number is None else POINTS_EXERCISE + len(lesson_numbered(number).questions)
    except CourseError:
        number = points_max = None
    return GradedRow(name, _owner_of(name), number, "unreadable", 0, points_max, idea)


def _number_in(name: str) -> int | None:
    named = _NAMED.fullmatch(name)
    return None if named is None else int(named[2])


def not_graded(file: Path, folder: Path) -> GradedRow:
    """Returns the row of a file that is not named after a lesson, or is no file of Python."""
    name, end = file.relative_to(folder).as_posix(), file.suffix.lower()
    reason = "its name has no lesson, as in lesson_3.py"
    if end != ".py" and _MEANT.fullmatch(file.name):
        kind = "a notebook" if end == ".ipynb" else "no .py file"
        reason = f"it is {kind}: a submission is the file that `simstrategy learn NUMBER` writes, filled in"
    return GradedRow(name, _owner_of(name), None, "not graded", None, None, reason)


def _owner_of(name: str) -> str:
    """Returns whose file it seems to be: the first folder, or what stands before `lesson` in its name."""
    folder, slash, _ = name.partition("/")
    named = _NAMED.fullmatch(name)
    return printable(folder if slash else named[1].strip(" _-") if named else "", _NAME_MAX)


def _row(name: str, verdict: Verdict) -> GradedRow:
    lesson, idea = verdict.lesson.number, verdict.idea
    right = sum(bool(one.right) for one in verdict.answers)
    open_ = "" if right == len(verdict.answers) else f"{right} of {len(verdict.answers)} questions right"
    facts = "" if idea is None else " ".join(idea.facts)
    detail = printable(facts, _IDEA_MAX) + (" …" if len(facts) > _IDEA_MAX else "")
    number = _number_in(name)
    if number is not None and number != lesson:
        detail = f"The file is of lesson {lesson}, and its name has {number}. {detail}".rstrip()
    student, wrong = verdict.student or _owner_of(name), open_ if idea is None else idea.name
    questions = ", ".join(
        one.question + (" (no answer)" if one.right is None else "") for one in verdict.answers if not one.right
    )
    return GradedRow(name, student, lesson, verdict.state, verdict.points, verdict.points_max, wrong, detail, questions)


def lines_of_csv(rows: Iterable[Sequence[object]]) -> str:
    """Returns rows as lines of CSV.  A text that a spreadsheet would compute gets an apostrophe."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([_plain(cell) for cell in row] for row in rows)
    return stream.getvalue()


def _plain(cell: object) -> object:
    return (
        f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else "" if cell is None else cell
    )
