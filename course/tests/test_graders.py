"""The graders: a solution passes, a known wrong answer gets its own hint, and a template is unfinished."""

import pytest
from course_files import answered
from shares import one_in

from simstrategy_course.grading import grade
from simstrategy_course.holes import template_of
from simstrategy_course.reading import lessons
from simstrategy_course.submission import submission_of

LESSONS = lessons()
BY_NUMBER = pytest.mark.parametrize("lesson", LESSONS, ids=[str(one.number) for one in LESSONS])


def verdict_on(text, lesson, runner, seed="anna"):
    return grade(submission_of(text, f"lesson_{lesson.number}.py")._replace(seed=seed), runner)


def test_there_are_thirteen_lessons_and_each_has_wrong_answers_and_questions():
    assert [one.number for one in LESSONS] == [*range(13)]
    for lesson in LESSONS:
        assert len({one.name for one in lesson.wrong}) == len(lesson.wrong) >= 3, lesson.title
        assert [one.name for one in lesson.questions] == ["prediction", "1", "2", "3"]
        assert 25 <= lesson.minutes <= 45


@BY_NUMBER
def test_the_solution_passes_with_the_right_answers(lesson, runner):
    verdict = verdict_on(answered(lesson, lesson.solution), lesson, runner)
    assert (verdict.state, verdict.points, verdict.exit_code) == ("passed", verdict.points_max, 0), str(verdict)


@pytest.mark.slow
@pytest.mark.parametrize("lesson", one_in(2, LESSONS), ids=[str(one.number) for one in LESSONS])
def test_each_known_wrong_answer_gets_its_own_hint(lesson, runner):
    for wrong in lesson.wrong:
        verdict = verdict_on(lesson.changed(wrong), lesson, runner)
        assert verdict.exit_code == 1
        assert verdict.idea is not None, wrong.name
        assert (verdict.idea.name, verdict.idea.hint, verdict.idea.source) == (wrong.name, wrong.hint, "known")


@BY_NUMBER
def test_an_untouched_template_is_unfinished_and_runs_nothing(lesson, runner):
    verdict = verdict_on(template_of(lesson.solution), lesson, runner)
    assert (verdict.state, verdict.points, verdict.exit_code) == ("unfinished", 0, 1)
    assert "to fill" in verdict.idea.name


@BY_NUMBER
def test_no_hint_and_no_template_holds_what_fills_the_hole(lesson):
    template = template_of(lesson.solution)
    own = set(lesson.solution.splitlines()) - set(template.splitlines())
    lines = {line.strip() for line in own if not line.strip().startswith("#")} - {")", "]", "}"}
    assert lines
    texts = [one.hint for one in (*lesson.wrong, *lesson.rules, *lesson.questions)] + [lesson.general]
    for line in lines:
        assert not any(line in text for text in texts), line


@pytest.mark.parametrize("seed", ["ben", "42"])
def test_other_data_change_no_verdict(seed, runner):
    lesson = LESSONS[3]
    assert verdict_on(lesson.solution, lesson, runner, seed).idea is None
    wrong = lesson.wrong[0]
    assert verdict_on(lesson.changed(wrong), lesson, runner, seed).idea.name == wrong.name
