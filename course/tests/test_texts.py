"""The lessons' texts: their programs run, their commands print what they show, their sentences are short."""

import re
from pathlib import Path

import pytest
from lesson_pages import blocks, fits, ran, save_programs, sentences, shown

from simstrategy_course import failures, symptoms
from simstrategy_course.reading import lessons

LESSONS = lessons()
BY_NUMBER = pytest.mark.parametrize("lesson", LESSONS, ids=[str(one.number) for one in LESSONS])
LAW = Path(__file__).resolve().parents[2] / "docs" / "semantics.md"
TAUGHT = "CVMRUDK"
"""The groups of clauses of which each is taught."""
WORDS_MEAN_MAX, WORDS_MAX = 20, 30
PARTS = ("Predict", "Exercise", "On real hardware", "What you have learned", "Questions")


@pytest.mark.slow
@BY_NUMBER
def test_commands_of_a_lesson_print_what_it_shows(lesson, folder):
    ran(f"simstrategy learn {lesson.number}")
    with_torch = save_programs(lesson.text, folder)
    commands = [one for block in blocks(lesson.text) if block.kind == "console" for one in shown(block)]
    assert f"simstrategy grade lesson_{lesson.number}.py" in [one.command for one in commands]
    for one in commands:
        if one.command.startswith("simstrategy ") and not any(name in one.command for name in with_torch):
            output = ran(one.command)
            assert fits(output, one.output), f"{one.command}\n{output}"


@pytest.mark.slow
@BY_NUMBER
def test_a_filled_file_runs_on_its_own_data(lesson, folder):
    (folder / "mine.py").write_text(lesson.solution)
    output = ran("simstrategy run mine.py --replicas 3 --semantics TF2")
    assert "Error" not in output
    assert fits(output, "result…events in the trace") or fits(output, "result…1 event in the trace")


@BY_NUMBER
def test_a_lesson_has_all_its_parts(lesson):
    headings = re.findall(r"^## (.+)$", lesson.text, re.MULTILINE)
    assert [part for part in PARTS if part in headings] == [*PARTS]
    assert re.search(rf"^# Lesson {lesson.number}: ", lesson.text)
    assert f"\n{lesson.minutes} minutes." in lesson.text
    questions = lesson.text.partition("\n## Questions\n")[2]
    assert re.findall(r"^(\d)\. ", questions, re.MULTILINE) == ["1", "2", "3"]
    assert "simstrategy play" in lesson.text or lesson.number == 7


@BY_NUMBER
def test_a_lesson_names_the_clauses_that_it_teaches(lesson):
    rows = re.findall(r"^\| ([A-Z]-\d+) \| .+ \|$", lesson.text, re.MULTILINE)
    assert sorted(rows) == sorted(lesson.clauses)


def test_every_clause_of_seven_groups_is_taught():
    law = set(re.findall(rf"^\*\*([{TAUGHT}]-\d+)\*\*", LAW.read_text(encoding="utf-8"), re.MULTILINE))
    taught = {clause for lesson in LESSONS for clause in lesson.clauses}
    assert sorted(law - taught) == []
    assert sorted(taught - law) == []


def test_sentences_of_texts_and_hints_are_short():
    texts = {f"lesson {one.number}": one.text for one in LESSONS}
    for one in LESSONS:
        hints = [(each.name, each.hint) for each in (*one.wrong, *one.rules, *one.questions)]
        hints += [("general", one.general), ("alone", one.alone)]
        texts |= {f"lesson {one.number}, {name}": hint for name, hint in hints}
    found = {name: sentences(text) for name, text in texts.items()}
    long = [f"{name}: {one}" for name, ones in found.items() for one in ones if len(one.split()) > WORDS_MAX]
    assert long == []
    counts = [len(one.split()) for ones in found.values() for one in ones]
    assert sum(counts) / len(counts) <= WORDS_MEAN_MAX


def test_hints_of_symptoms_are_short():
    hints = [one.hint for one in symptoms.SYMPTOMS] + [hint for _, hint in failures.ENDED.values()]
    assert all(len(one.split()) <= WORDS_MAX for hint in hints for one in sentences(hint))
