"""The exercises in PyTorch: graded on simulated ranks, against the lessons' solutions.  They need PyTorch."""

import importlib
import importlib.util

import pytest

from simstrategy_course.grading import grade
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError
from simstrategy_course.observing import Limits, Runner
from simstrategy_course.on_ranks import torch_runs
from simstrategy_course.page import page_of
from simstrategy_course.rank import SCRIPT
from simstrategy_course.reading import lessons
from simstrategy_course.submission import submission_of

WITH_TORCH = [one for one in lessons() if one.torch is not None]
BY_NUMBER = pytest.mark.parametrize("lesson", WITH_TORCH, ids=[str(one.number) for one in WITH_TORCH])
MISSING = [name for name in ("torch", "simstrategy_torch_distributed") if importlib.util.find_spec(name) is None]
needs_torch = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

WRONG = [
    (3, "    dist.all_reduce(both)\n", "", "the mean of one part"),
    (5, " / dist.get_world_size()", "", "a sum of the proposals for the weight"),
    (
        8,
        "    both =",
        "    if not len(finite):\n        return torch.zeros(())\n    both =",
        "the replicas make different calls",
    ),
    (8, "losses[torch.isfinite(losses)]", "losses.nothing", "the program raises AttributeError"),
    (
        11,
        "    total = seen.clone()\n    dist.all_reduce(total)",
        "    total = seen",
        "the first replica's component is saved",
    ),
    (11, 'return saved["done"]', "return 0", "the position is not restored"),
]
"""Of a lesson: a text of its solution in PyTorch, what stands in its place, and the name of what is wrong then."""


@pytest.fixture(scope="session")
def command():
    """Runs scripts by commands that do not import PyTorch again: one process forks them all."""
    forks = importlib.import_module("forks")

    def run(runs, seconds):
        for folder, ranks in runs:
            arguments = ("--nproc-per-node", str(ranks), "--limit-seconds", str(seconds), SCRIPT)
            forks.torchrun(arguments, folder, seconds + 60)

    return run


@pytest.fixture(scope="session")
def on_forks(command):
    with Runner(Limits(seconds=20.0), command=command) as made:
        yield made


def test_four_lessons_have_an_exercise_in_pytorch():
    assert [one.number for one in WITH_TORCH] == [3, 5, 8, 11]


@BY_NUMBER
def test_no_hint_and_no_template_holds_what_fills_the_holes(lesson):
    template = template_of(lesson.torch_solution)
    own = {line.strip() for line in set(lesson.torch_solution.splitlines()) - set(template.splitlines())}
    hints = " ".join([lesson.general, *(one.hint for one in lesson.wrong)])
    lines = {line for line in own if not line.startswith("#")}
    assert len(lines) >= 3
    assert not any(line in hints for line in lines)


@needs_torch
@pytest.mark.slow
@BY_NUMBER
def test_the_solution_in_pytorch_passes_and_its_template_is_unfinished(lesson, on_forks):
    verdict = grade(submission_of(lesson.torch_solution, "mine.py"), on_forks)
    assert (verdict.state, verdict.points, verdict.points_max) == ("passed", 6, 6), str(verdict)
    template = grade(submission_of(template_of(lesson.torch_solution), "mine.py"), on_forks)
    assert (template.state, template.points) == ("unfinished", 0)


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize(("number", "old", "new", "name"), WRONG)
def test_a_wrong_answer_in_pytorch_is_named_as_on_the_simulator(number, old, new, name, on_forks):
    lesson = lessons()[number]
    assert lesson.torch_solution.count(old) >= 1
    submission = submission_of(lesson.torch_solution.replace(old, new, 1), f"lesson_{number}_torch.py")
    verdict = grade(submission, on_forks)
    assert verdict.idea is not None
    assert verdict.idea.name == name, str(verdict)
    assert verdict.exit_code == 1
    assert page_of(submission, verdict) is None


@needs_torch
@pytest.mark.slow
def test_a_file_of_the_grader_is_closed_to_a_rank_and_a_rank_that_never_ends_is_named(command):
    lesson, begins = lessons()[3], "    both = torch.stack"
    reads = f"    open({str(lesson.folder / 'solution.py')!r}).read()\n{begins}"
    loops = f"    while True:\n        pass\n{begins}"
    names = []
    with Runner(Limits(seconds=1.0), command=command) as runner:
        for body in (reads, loops):
            submission = submission_of(lesson.torch_solution.replace(begins, body), "lesson_3_torch.py")
            names.append(grade(submission, runner).idea.name)
    assert names[0] == "the program looks into the grader"
    assert names[1] in {"the program does not end in time", "the program ended its process"}


def test_without_pytorch_an_exercise_in_it_is_refused_with_a_reason(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(CourseError, match="needs torch and simstrategy_torch_distributed, not installed here"):
        torch_runs([], 1.0)


def test_a_lesson_without_an_exercise_in_pytorch_refuses_a_file_that_states_one():
    with pytest.raises(CourseError, match="Lesson 4 has no exercise in PyTorch"):
        submission_of('LESSON = 4\nPART = "pytorch"\n', "lesson_4.py")


@needs_torch
@pytest.mark.slow
@pytest.mark.deep
def test_a_process_of_its_own_runs_each_number_of_ranks_and_one_that_takes_too_long_is_named(capfd):
    lesson, begins = lessons()[3], "    both = torch.stack"
    right = submission_of(lesson.torch_solution.replace(begins, f"    print('printed')\n{begins}"), "lesson_3_torch.py")
    wrong = right.text.replace(begins, f"    while len(losses) > 1:\n        pass\n{begins}")
    with Runner(Limits(seconds=20.0)) as runner:
        assert grade(right, runner).state == "passed"
    with Runner(Limits(seconds=1.0)) as runner:
        verdict = grade(submission_of(wrong, "lesson_3_torch.py"), runner)
    assert verdict.idea.name == "the program does not end in time"
    assert capfd.readouterr() == ("", "")
