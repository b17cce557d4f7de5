"""Files of students, made of solutions."""

import re

from simstrategy_course.holes import template_of
from simstrategy_course.lesson import Lesson


def answered(lesson: Lesson, text: str, **changes: str) -> str:
    """Returns a file with the right answers to the questions.  changes: other answers, by the name of the question."""
    answers = {one.name: one.answer for one in lesson.questions} | changes
    return re.sub(r"^ANSWERS = .*$", f"ANSWERS = {answers!r}", text, count=1, flags=re.MULTILINE)


def filled(lesson: Lesson, *bodies: str) -> str:
    """Returns a template with these lines in place of its holes, in their order."""
    text = template_of(lesson.solution)
    for body in bodies:
        text = re.sub(r"^    \.\.\.  #.*\n", lambda _, lines=body: lines, text, count=1, flags=re.MULTILINE)
    return text
