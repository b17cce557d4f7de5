"""Points of a file, for tests in notebooks: nbgrader takes the number, otter-grader the assertion.

from simstrategy_course import points
points("lesson_3.py").earned          # the last line of a cell of nbgrader's tests
points("lesson_3.py").require()       # in a test of otter-grader
"""

from pathlib import Path
from typing import NamedTuple

from simstrategy_course.grading import grade
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.submission import read_submission

__all__ = ["Points", "points"]


class Points(NamedTuple):
    """earned, possible: numbers of points. text: the verdict, with the hint."""

    earned: float
    possible: float
    text: str

    def require(self) -> None:
        """Raises AssertionError with the verdict's text unless all points are earned."""
        if self.earned < self.possible:
            raise AssertionError(self.text)


def points(file: str | Path, lesson: int | None = None, *, secret: str = "", limits: Limits | None = None) -> Points:
    """Returns the points of a student's file, which runs in a process of its own.

    lesson: its number; None for the one that the file names. secret: a word of the lecturer, which changes the data.
    Raises CourseError for a file that cannot be read, and for an unknown lesson.
    """
    submission = read_submission(Path(file), lesson)
    with Runner(limits) as runner:
        verdict = grade(submission, runner, secret=secret)
    return Points(float(verdict.points), float(verdict.points_max), str(verdict))
