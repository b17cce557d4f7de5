"""A file that passes without an answer, or harms, is refused; the verdict is made elsewhere."""

import pytest
from attacks import ATTACKS, attack_text

from simstrategy_course.grading import grade
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.reading import lesson_numbered
from simstrategy_course.submission import submission_of

ENDLESS = [name for name in ATTACKS if "never ends" in name]


@pytest.fixture(scope="module")
def quick():
    with Runner(Limits(seconds=1.0)) as made:
        yield made


def idea_of(name, runner):
    text = attack_text(lesson_numbered(3), ATTACKS[name])
    return grade(submission_of(text, "lesson_3.py"), runner).idea


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ATTACKS if name not in ENDLESS])
def test_an_attack_does_not_pass(name, runner):
    idea = idea_of(name, runner)
    assert idea is not None
    assert ATTACKS[name].idea in idea.name, idea


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_a_program_without_an_end_is_ended(name, quick):
    assert idea_of(name, quick).name == "the program does not end in time"


@pytest.mark.slow
def test_the_next_file_is_not_harmed_by_the_one_before(runner):
    lesson = lesson_numbered(3)
    for name in ("ends the process with success", "closes every file", "replaces what records"):
        idea_of(name, runner)
        assert grade(submission_of(lesson.solution, "lesson_3.py"), runner).idea is None


@pytest.mark.slow
def test_a_program_that_reads_its_own_stack_is_not_accused(runner):
    lesson = lesson_numbered(3)
    text = lesson.solution.replace("import numpy as np", "import inspect\nimport traceback\n\nimport numpy as np")
    text = text.replace("    total = ", "    traceback.extract_stack()\n    inspect.stack()\n    total = ")
    assert grade(submission_of(text, "lesson_3.py"), runner).idea is None
