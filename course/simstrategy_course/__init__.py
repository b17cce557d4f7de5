"""A course on data-parallel training: lessons, and graders that name the wrong idea behind a wrong answer.

The files in `lessons/` are data. A submission runs in a process of its own, and is judged here by what it computed.

The names are imported on their first use: the command line lists commands of this distribution.
"""

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from simstrategy.late_names import on_first_use

if TYPE_CHECKING:
    from simstrategy_course.earning import Points, points
    from simstrategy_course.grading import grade
    from simstrategy_course.lesson import CourseError, Lesson
    from simstrategy_course.reading import lesson_numbered, lessons
    from simstrategy_course.verdict import Verdict

__all__ = ["CourseError", "Lesson", "Points", "Verdict", "grade", "lesson_numbered", "lessons", "points"]

_WHERE: Final = MappingProxyType(
    {
        "CourseError": "simstrategy_course.lesson:CourseError",
        "Lesson": "simstrategy_course.lesson:Lesson",
        "Points": "simstrategy_course.earning:Points",
        "Verdict": "simstrategy_course.verdict:Verdict",
        "grade": "simstrategy_course.grading:grade",
        "lesson_numbered": "simstrategy_course.reading:lesson_numbered",
        "lessons": "simstrategy_course.reading:lessons",
        "points": "simstrategy_course.earning:points",
    }
)
"""Where each name is defined."""


__getattr__, __dir__ = on_first_use(globals(), _WHERE)
