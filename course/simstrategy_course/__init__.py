"""A course on data-parallel training: lessons, and graders that name the wrong idea behind a wrong answer.

The files in `lessons/` are data. A submission runs in a process of its own, and is judged here by what it computed.
"""

from simstrategy_course.grading import grade
from simstrategy_course.lesson import CourseError, Lesson
from simstrategy_course.points import Points, points
from simstrategy_course.reading import lesson_numbered, lessons
from simstrategy_course.verdict import Verdict

__all__ = ["CourseError", "Lesson", "Points", "Verdict", "grade", "lesson_numbered", "lessons", "points"]
