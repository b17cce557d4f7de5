"""Grades a submission: what it computed, against the solution, the rules, the known wrong answers and the symptoms.

The verdict is made in this process, of recordings. What the submission's process reports of itself decides nothing.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from simstrategy_course.comparing import alike, broken_rules, mismatches, unequal_bits
from simstrategy_course.failures import failed
from simstrategy_course.lesson import Lesson, counted
from simstrategy_course.observing import Observed, Runner, data_of, trusted_runs
from simstrategy_course.running import Run
from simstrategy_course.submission import Submission
from simstrategy_course.symptoms import facts_of, symptom_of
from simstrategy_course.verdict import Answer, Idea, Verdict

__all__ = ["grade", "judged"]

_UNFINISHED: Final = "Write what the comment there describes, and take the three dots away."


def grade(submission: Submission, runner: Runner, *, secret: str = "", closed: Sequence[Path] = ()) -> Verdict:
    """Returns the verdict on a submission.

    runner: runs it. secret: a word of the lecturer that changes the data. closed: files and folders closed to it.
    """
    idea = _unfinished(submission)
    if idea is not None:
        return _verdict(submission, idea, (), unfinished=True)
    data = data_of(submission.lesson, submission.seed, secret)
    return judged(submission, runner.observe(submission, data, closed=closed), secret)


def judged(submission: Submission, seen: Observed, secret: str = "") -> Verdict:
    """Returns the verdict on what was seen of a submission."""
    lesson = submission.lesson
    if seen.refused:
        hint = "Write the function from the lesson. The grader's files and those of others are closed to it."
        facts = tuple(f"Refused: {text}." for text in dict.fromkeys(seen.refused))
        return _verdict(submission, Idea("the program looks into the grader", "symptom", hint, facts), ())
    if seen.failure is not None:
        return _verdict(submission, failed(seen.failure), ())
    idea, shown = _idea(lesson, seen.runs, submission.seed, secret)
    return _verdict(submission, idea, shown)


def _unfinished(submission: Submission) -> Idea | None:
    if submission.missing:
        names = ", ".join(submission.missing)
        hint = f"Keep the names of the lesson's functions. `simstrategy learn {submission.lesson.number}` writes them."
        return Idea(f"there is no function {names}", "symptom", hint)
    if submission.holes:
        lines = ", ".join(map(str, submission.holes))
        where = counted(len(submission.holes), "hole")
        return Idea(f"{where} to fill", "symptom", _UNFINISHED, (f"{submission.name}: line {lines}.",))
    return None


def _idea(lesson: Lesson, runs: Sequence[Run], seed: str, secret: str) -> tuple[Idea | None, tuple[Run, ...]]:
    """Returns what is wrong with runs, and those that show it: one that is right, if there is one, and a wrong one."""
    right = trusted_runs(lesson, lesson.solution, seed, secret)
    found = list(mismatches(runs, right))
    broken = broken_rules(lesson, runs)
    bits = unequal_bits(runs) if lesson.same_bits and not found else None
    if not found and not broken and bits is None:
        return None, ()
    found.sort(key=lambda one: one.run.failure is None)  # an error shows more than a number
    wrong = [*(one.run for one in found), *(run for _, run in broken), *([] if bits is None else [bits.run])]
    differing = {one.run.setting for one in found} | {wrong[0].setting}
    shown = (*[run for run in runs if run.setting not in differing][:1], wrong[0])
    facts = facts_of(found[0]) if found else ()
    for one in lesson.wrong:
        if alike(lesson, runs, trusted_runs(lesson, lesson.changed(one), seed, secret)):
            return Idea(one.name, "known", one.hint, facts), shown
    if found:
        symptom = symptom_of(lesson, found, runs)
        return symptom or Idea("the result is not right", "general", lesson.general, facts), shown
    if broken:
        rule, run = broken[0]
        return Idea(rule.name, "known", rule.hint, (f"The values are right. It shows with {run.setting}.",)), shown
    assert bits is not None
    text = f"With {bits.run.setting}, {bits.name} has other bits than with {runs[0].setting}."
    hint = (
        "The numbers are right up to rounding, and the bits depend on the setting. Ask which additions changed places."
    )
    return Idea("the bits depend on the setting", "symptom", hint, (text,)), shown


def _verdict(submission: Submission, idea: Idea | None, shown: tuple[Run, ...], *, unfinished: bool = False) -> Verdict:
    answers = []
    for question in submission.lesson.questions:
        given = submission.answers.get(question.name)
        right = None if given is None else given == question.answer
        line = submission.unread.get(question.name)
        unread = "" if line is None else f"Line {line} cannot be read. Write a number, or a letter in quotes."
        answers.append(Answer(question.name, right, question.hint if right is False else unread))
    return Verdict(
        submission.lesson, submission.name, submission.seed, idea, tuple(answers), shown, unfinished=unfinished
    )
