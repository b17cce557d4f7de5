"""What came of grading one file: data, and its text."""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from simstrategy_course.lesson import Lesson, counted
from simstrategy_course.running import Run

__all__ = ["POINTS_EXERCISE", "Answer", "Idea", "Source", "State", "Verdict"]

State = Literal["passed", "wrong", "unfinished"]
Source = Literal["known", "symptom", "general"]

POINTS_EXERCISE = 6
"""Points of the exercise; every question has one more."""


class Idea(NamedTuple):
    """Why an answer is wrong.  source: a known wrong answer, a symptom, or neither. facts: what was seen."""

    name: str
    source: Source
    hint: str
    facts: tuple[str, ...] = ()


class Answer(NamedTuple):
    """A question and whether its answer is right; None where there is none. hint: "" for a right one."""

    question: str
    right: bool | None
    hint: str


class Verdict(NamedTuple):
    """What came of one file.

    idea: what is wrong with the exercise; None where it is right. shown: runs of the submission that a page can show,
    the one with the difference last. not_run: settings of backends that are not here.
    """

    lesson: Lesson
    file: str
    student: str
    idea: Idea | None
    answers: tuple[Answer, ...]
    shown: tuple[Run, ...]
    unfinished: bool = False

    @property
    def state(self) -> State:
        """passed: the exercise and all questions are right."""
        if self.unfinished:
            return "unfinished"
        return "passed" if self.idea is None and all(one.right for one in self.answers) else "wrong"

    @property
    def points(self) -> int:
        """Points earned."""
        return (POINTS_EXERCISE if self.idea is None else 0) + sum(bool(one.right) for one in self.answers)

    @property
    def points_max(self) -> int:
        """Points that the lesson has."""
        return POINTS_EXERCISE + len(self.answers)

    @property
    def exit_code(self) -> int:
        """0: passed. 1: not."""
        return 0 if self.state == "passed" else 1

    def lines(self) -> Iterator[str]:
        """Yields the text, line by line."""
        yield f"Lesson {self.lesson.number}: {self.lesson.title}"
        if self.idea is None:
            runs = counted(len(self.lesson.settings), "run")
            yield f"Exercise: right in {runs}, on data that the file does not have."
        else:
            yield f"Exercise: not yet. {self.idea.name[:1].upper()}{self.idea.name[1:]}."
            yield from (f"  {fact}" for fact in self.idea.facts)
            yield f"  Hint: {self.idea.hint}"
        for one in self.answers:
            state = "right" if one.right else "no answer yet" if one.right is None else "not right"
            yield f"Question {one.question}: {state}.{f' Hint: {one.hint}' if one.hint else ''}"
        yield f"Points: {self.points} of {self.points_max}."

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_data(self) -> dict[str, Any]:
        """Returns the verdict as values of JSON."""
        return {
            "format": "simstrategy-grade",
            "version": 1,
            "file": self.file,
            "lesson": self.lesson.number,
            "student": self.student,
            "state": self.state,
            "points": self.points,
            "points_max": self.points_max,
            "idea": None if self.idea is None else {**self.idea._asdict(), "facts": list(self.idea.facts)},
            "answers": [one._asdict() for one in self.answers],
        }
