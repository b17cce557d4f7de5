"""Wrong answers that a generator makes of the solutions: a few here, a hundred in `ci/run.py deep course`."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import course_mutants
import mutations_course

from simstrategy_course.reading import lessons

SOLUTIONS = {lesson.number: lesson.solution for lesson in lessons()}
COUNT = 13


@pytest.mark.slow
def test_mutants_of_every_lesson_are_refused_with_a_hint():
    found = list(course_mutants.graded(COUNT, seed=7))
    assert sorted(mutant.lesson for mutant, _ in found) == sorted(SOLUTIONS)
    passed = [(mutant.lesson, mutant.what) for mutant, idea in found if idea is None]
    assert passed == []
    general = [mutant.what for mutant, idea in found if idea.source == "general"]
    assert len(general) <= COUNT // 5, general


@pytest.mark.slow
def test_mutants_are_the_same_for_the_same_seed_and_each_differs_from_its_solution():
    one, two, other = (mutations_course.drawn(SOLUTIONS, 40, seed) for seed in (1, 1, 2))
    assert one == two != other
    assert len({mutant.text for mutant in one}) == 40
    assert all(mutant.text != SOLUTIONS[mutant.lesson] for mutant in one)


def test_an_edit_is_inside_of_a_hole():
    for mutant in mutations_course.mutants_of(3, SOLUTIONS[3]):
        assert "def draw(seed):" in mutant.text
        assert 'dataset = ss.data.Dataset.from_tensor_slices(data["losses"]).batch(10)' in mutant.text.replace("'", '"')
