"""The commands learn and grade: files, exit codes, JSON, folders of submissions, and what cannot be graded."""

import base64
import csv
import gzip
import json
import re
import resource
import subprocess
import sys

import pytest
import typer
from course_files import answered, filled
from typer.testing import CliRunner

from simstrategy.cli.app import add_command
from simstrategy_course import points
from simstrategy_course.commands import grade, learn
from simstrategy_course.holes import template_of
from simstrategy_course.reading import lessons
from simstrategy_course.submission import read_submission

PROCESSOR_S = 3.0
"""Of a grading, with all its processes."""


def command(*words):
    app = typer.Typer(add_completion=False)
    for function in (learn, grade):
        add_command(app, function.__name__, function)
    return CliRunner().invoke(app, [str(word) for word in words])


def test_learn_lists_all_lessons_with_their_minutes():
    run = command("learn")
    assert run.exit_code == 0
    for lesson in lessons():
        assert f"{lesson.number:>6}  {lesson.minutes:>7}  {lesson.title}" in run.output


def test_learn_writes_a_text_and_a_program_with_holes_for_a_student(folder):
    run = command("learn", "3", "--seed", "anna")
    assert (run.exit_code, run.stderr) == (0, "")
    program = (folder / "lesson_3.py").read_text()
    assert 'SEED = "anna"' in program.replace("'", '"')
    assert "...  # return the mean over the rows of all replicas" in program
    assert 'all_reduce("SUM"' not in program
    assert (folder / "lesson_3.md").read_text() == lessons()[3].text


def test_learn_does_not_replace_work_without_force(folder):
    command("learn", "3")
    (folder / "lesson_3.py").write_text("my work")
    run = command("learn", "3")
    assert run.exit_code == 2
    assert "lesson_3.py is here already, with other contents. Nothing was written." in run.stderr
    assert (folder / "lesson_3.py").read_text() == "my work"
    assert command("learn", "3", "--force").exit_code == 0
    assert "my work" not in (folder / "lesson_3.py").read_text()


def test_learn_of_a_lesson_that_does_not_exist_names_those_that_do(folder):
    run = command("learn", "77")
    assert run.exit_code == 2
    assert "There is no lesson 77. Choose one of 0, 1, 2" in run.stderr


@pytest.mark.slow
def test_grade_names_the_idea_and_writes_a_page_without_the_solution(folder):
    lesson = lessons()[3]
    (folder / "lesson_3.py").write_text(filled(lesson, '    return ctx.all_reduce("MEAN", ctx.xp.mean(losses))\n'))
    run = command("grade", "lesson_3.py")
    assert run.exit_code == 1, run.output
    assert "Exercise: not yet. A mean of means." in run.output
    assert f"Hint: {lesson.wrong[0].hint}" in run.output
    assert "Page: lesson_3.html." in run.output
    page = (folder / "lesson_3.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    packed = max(re.findall(r"[A-Za-z0-9+/=]{200,}", page), key=len)
    data = gzip.decompress(base64.b64decode(packed)).decode()
    assert 'ctx.all_reduce(\\"MEAN\\", ctx.xp.mean(losses))' in data
    assert "end of hole" not in data
    assert "total / rows" not in data


@pytest.mark.slow
def test_grade_ends_with_zero_for_a_right_file_and_prints_json(folder):
    lesson = lessons()[0]
    (folder / "mine.py").write_text(answered(lesson, lesson.solution))
    run = command("grade", "mine.py", "--json")
    assert run.exit_code == 0, run.output
    data = json.loads(run.stdout)
    assert (data["state"], data["points"], data["idea"], data["page"]) == ("passed", 10, None, None)
    (folder / "mine.py").write_text(answered(lesson, lesson.solution, prediction="c"))
    run = command("grade", "mine.py")
    assert run.exit_code == 1
    assert f"Question prediction: not right. Hint: {lesson.questions[0].hint}" in run.output
    assert "Points: 9 of 10." in run.output


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "There is no file 'lesson_3.py'."),
        ("LESSON = 3\ndef mean_of_batch(:\n", "lesson_3.py:2: this is no Python"),
        ("x = 1\n", "lesson_3.py does not name its lesson. Keep the line LESSON"),
        ("LESSON = 99\n", "There is no lesson 99."),
        ("LESSON = 3\n" + "#" * 300_000, "has more than 256 KB"),
        (b"\xff\xfe", "cannot be read as text"),
    ],
)
def test_a_file_that_cannot_be_graded_is_named_with_what_to_do(folder, text, expected):
    if text is not None:
        (folder / "lesson_3.py").write_bytes(text if isinstance(text, bytes) else text.encode())
    run = command("grade", "lesson_3.py")
    assert run.exit_code == 2
    assert expected in run.stderr


def test_a_half_filled_file_gets_the_line_of_each_hole(folder):
    (folder / "lesson_1.py").write_text(filled(lessons()[1], "    return value\n"))
    run = command("grade", "lesson_1.py")
    assert run.exit_code == 1
    assert "Exercise: not yet. 1 hole to fill." in run.output
    assert "lesson_1.py: line " in run.output


def test_a_file_without_the_function_is_named(folder):
    (folder / "lesson_3.py").write_text("LESSON = 3\ndef mean(losses):\n    return 1\n")
    run = command("grade", "lesson_3.py")
    assert run.exit_code == 1
    assert "There is no function mean_of_batch." in run.output


@pytest.mark.slow
def test_a_folder_is_graded_into_a_table_whatever_a_file_does(folder):
    lesson = lessons()[3]
    right = answered(lesson, lesson.solution)
    other = folder / "class" / "anna" / "lesson_3.py"
    texts = {
        "anna": right.replace('SEED = ""', 'SEED = "anna"'),
        "ben": lesson.changed(lesson.wrong[0]),
        "carla": "LESSON = 3\nimport os\nos._exit(0)\ndef mean_of_batch(losses):\n    return 0\n",
        "dan": "LESSON = 3\n(",
        "eve": filled(lesson, f"    return open({str(other)!r}).read()\n"),
        "fay": right.replace("import numpy", f"open({str(folder / 'class' / 'notes.txt')!r}).close()\nimport numpy"),
    }
    for name, text in texts.items():
        (folder / "class" / name).mkdir(parents=True)
        (folder / "class" / name / "lesson_3.py").write_text(text)
    (folder / "class" / "notes.txt").write_text("no submission: an environment may be in this folder as well")
    run = command("grade", "class", "--csv", "points.csv", "--secret", "autumn")
    assert run.exit_code == 0, run.output
    rows = list(csv.DictReader((folder / "points.csv").read_text().splitlines()))
    assert [(row["file"], row["state"], row["points"]) for row in rows] == [
        ("anna/lesson_3.py", "passed", "10"),
        ("ben/lesson_3.py", "wrong", "0"),
        ("carla/lesson_3.py", "wrong", "0"),
        ("dan/lesson_3.py", "unreadable", "0"),
        ("eve/lesson_3.py", "wrong", "0"),
        ("fay/lesson_3.py", "passed", "10"),
    ]
    assert [row["student"] for row in rows] == ["anna", "ben", "carla", "dan", "eve", "fay"]
    assert [row["idea"] for row in rows[1:3]] == ["a mean of means", "the program ended its process"]
    assert rows[4]["idea"] == "the program looks into the grader"


def test_a_second_file_of_a_student_is_named_and_endless_printing_has_a_hint(folder):
    solution = lessons()[3].solution.replace('SEED = ""', 'SEED = "anna"')
    prints = solution.replace("def program(", "def unused(): pass\n\n\nprint('x' * 70_000_000)\n\n\ndef program(")
    for name, text in (("anna", solution), ("tom", solution), ("zac", prints.replace("anna", "zac"))):
        (folder / name).mkdir()
        (folder / name / "lesson_3.py").write_text(text, encoding="utf-8")
    command("grade", str(folder), "--csv", "table.csv")
    rows = [line.split(",") for line in (folder / "table.csv").read_text("utf-8").splitlines()[1:]]
    by_name = {row[0]: row for row in rows}
    assert any("anna/lesson_3.py is of this student and lesson" in cell for cell in by_name["tom/lesson_3.py"])
    assert not any("of this student" in cell for cell in by_name["anna/lesson_3.py"])
    assert "the program prints or writes too much" in by_name["zac/lesson_3.py"], by_name


def test_files_that_nothing_grades_are_named_and_those_of_systems_are_not(folder):
    names = ("Lesson-3.PY", "mine.py", "lesson_3.ipynb", "lesson_3.txt", "lesson_3.md", "notes.txt")
    for name in (*names, "__MACOSX/._lesson_3.py", "__pycache__/lesson_3.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(template_of(lessons()[4].solution))
    run = command("grade", ".", "--csv", "points.csv")
    assert run.exit_code == 0, run.output
    row, *others = csv.DictReader((folder / "points.csv").read_text().splitlines())
    assert (row["file"], row["lesson"], row["state"]) == ("Lesson-3.PY", "4", "unfinished")
    assert {(one["state"], one["points"]) for one in others} == {("not graded", "")}
    assert [(one["file"], one["idea"].partition(":")[0]) for one in others] == [
        ("lesson_3.ipynb", "it is a notebook"),
        ("lesson_3.txt", "it is no .py file"),
        ("mine.py", "its name has no lesson, as in lesson_3.py"),
    ]
    assert row["detail"].startswith("The file is of lesson 4, and its name has 3.")
    assert "Not graded, for the reasons in the table: lesson_3.ipynb, lesson_3.txt, mine.py." in run.output
    for number in range(20):
        (folder / f"module{number}.py").write_text("")
    assert "module14.py, 13 more." in command("grade", ".", "--csv", "points.csv").output
    assert len((folder / "points.csv").read_text().splitlines()) == 1 + 1 + 23


def test_an_environment_of_python_beside_the_submissions_is_left_out(folder):
    module = folder / "anna" / "lib" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    (folder / "anna" / "pyvenv.cfg").write_text("")
    (folder / "anna" / "lesson_3.py").write_text(template_of(lessons()[3].solution))
    assert "Not graded" not in command("grade", ".", "--csv", "points.csv").output
    (row,) = csv.DictReader((folder / "points.csv").read_text().splitlines())
    assert (row["file"], row["state"]) == ("anna/lesson_3.py", "unfinished"), "an environment may be where they work"


def test_an_empty_file_is_called_empty_and_the_row_has_whose_it_is(folder):
    (folder / "ben_lesson_3.py").write_text("\n")
    assert "ben_lesson_3.py is empty. Hand in the file" in command("grade", "ben_lesson_3.py").stderr
    command("grade", ".", "--csv", "points.csv")
    (row,) = csv.DictReader((folder / "points.csv").read_text().splitlines())
    assert (row["student"], row["state"], row["points"]) == ("ben", "unreadable", "0")
    assert (row["lesson"], row["points_max"]) == ("3", "10")


def test_a_lesson_that_is_given_is_that_of_the_files_that_are_named_after_it(folder):
    for number in (2, 3):
        text = template_of(lessons()[number].solution).replace(f"LESSON = {number}", "")
        (folder / f"lesson_{number}.py").write_text(text)
    command("grade", ".", "--csv", "points.csv", "--lesson", "3")
    rows = csv.DictReader((folder / "points.csv").read_text().splitlines())
    assert [(row["lesson"], row["state"]) for row in rows] == [("2", "unreadable"), ("3", "unfinished")]


@pytest.mark.slow
def test_a_row_states_what_is_open_and_what_was_raised(folder):
    lesson = lessons()[3]
    (folder / "a_lesson_3.py").write_text(answered(lesson, lesson.solution, **{"1": "5"}))
    (folder / "b_lesson_3.py").write_text(filled(lesson, "    return losses.nothing\n"))
    command("grade", ".", "--csv", "points.csv")
    first, second = csv.DictReader((folder / "points.csv").read_text().splitlines())
    assert (first["state"], first["points"], first["idea"]) == ("wrong", "9", "3 of 4 questions right")
    assert (first["questions"], second["questions"]) == (
        "1",
        "prediction (no answer), 1 (no answer), 2 (no answer), 3 (no answer)",
    )
    assert "AttributeError at line " in second["detail"]


def test_a_folder_without_a_table_and_a_place_that_has_no_folder_are_refused_before_anything_runs(folder):
    (folder / "lesson_3.py").write_text(lessons()[3].solution)
    assert "is a folder. Add --csv points.csv" in command("grade", ".").stderr
    run = command("grade", ".", "--csv", folder / "missing" / "points.csv")
    assert run.exit_code == 2
    assert "points.csv' cannot be written: No such file or directory." in run.stderr
    assert "lesson_3.py:" not in run.stdout


def test_a_folder_without_submissions_and_a_file_in_its_place_are_refused(folder):
    assert "is no folder" in command("grade", "nothing", "--csv", "points.csv").stderr
    assert "No file in '.' is named after a lesson" in command("grade", ".", "--csv", "points.csv").stderr


@pytest.mark.slow
def test_points_are_what_tests_in_notebooks_take(folder):
    lesson = lessons()[3]
    (folder / "lesson_3.py").write_text(answered(lesson, lesson.changed(lesson.wrong[3]), **{"1": "5"}))
    found = points("lesson_3.py")
    assert (found.earned, found.possible) == (3.0, 10.0)
    with pytest.raises(AssertionError, match="A sum where a mean was asked for"):
        found.require()


@pytest.mark.slow
def test_grade_runs_on_another_backend_as_well(folder):
    lesson, other = lessons()[3], "simstrategy.sim:open_sim"
    (folder / "right.py").write_text(answered(lesson, lesson.solution))
    run = command("grade", "right.py", "--backends", other)
    assert run.exit_code == 0, run.output
    assert "Exercise: right in 10 runs" in run.output
    calls = 3 * sum(setting.ranks for setting in lesson.settings)  # of 3 batches
    text = lesson.solution.replace("def mean_of", "CALLS = []\n\n\ndef mean_of")
    text = text.replace("return total / rows", f"CALLS.append(1)\n    return total / rows + (len(CALLS) > {calls})")
    (folder / "lesson_3.py").write_text(text)
    run = command("grade", "lesson_3.py", "--backends", other)
    assert "It is right on the simulator alone." in run.output
    assert f"With 1 replica, on {other}, batch 0 is not right" in run.output


def test_a_backend_that_is_not_installed_is_named(folder):
    (folder / "lesson_3.py").write_text(lessons()[3].solution)
    run = command("grade", "lesson_3.py", "--backends", "abacus")
    assert run.exit_code == 2
    assert "No backend abacus is installed. See `simstrategy backends`." in run.stderr


@pytest.mark.slow
def test_texts_of_a_submission_cannot_control_a_terminal_or_a_spreadsheet(folder):
    lesson = lessons()[3]
    error = "type('\\x1b[2JName', (Exception,), {})('\\x1b[31mred')"
    text = filled(lesson, f"    raise {error}\n").replace("SEED = ''", "SEED = '=1+1\\x1b[2J'")
    (folder / "lesson_3.py").write_text(text)
    run = command("grade", "lesson_3.py")
    assert "?[2JName" in run.output
    assert "\x1b" not in run.output
    command("grade", ".", "--csv", "points.csv")
    table = (folder / "points.csv").read_text()
    assert "\x1b" not in table
    assert "lesson_3.py,'=1+1?[2J,3,wrong,0," in table


def test_a_seed_with_backslashes_is_written_as_it_is(folder):
    assert command("learn", "3", "--seed", "a\\1\\d").exit_code == 0
    assert read_submission(folder / "lesson_3.py").seed == "a\\1\\d"


def test_a_page_that_cannot_be_written_is_named_after_the_verdict(folder):
    (folder / "lesson_3.py").write_text(filled(lessons()[3], "    return losses\n"))
    run = command("grade", "lesson_3.py", "-o", folder / "missing" / "x.html")
    assert run.exit_code == 2
    assert "Exercise: not yet." in run.stdout
    assert "x.html' cannot be written" in run.stderr


def test_the_page_of_an_earlier_grading_is_removed_and_another_file_is_not(folder):
    lesson = lessons()[0]
    (folder / "lesson_0.py").write_text(answered(lesson, lesson.solution))
    page = folder / "lesson_0.html"
    page.write_text("mine")
    assert command("grade", "lesson_0.py").exit_code == 0
    assert page.read_text() == "mine"
    page.write_text("<!DOCTYPE html>\n")
    assert command("grade", "lesson_0.py").exit_code == 0
    assert not page.exists()


@pytest.mark.slow
def test_a_grading_takes_less_than_three_seconds_of_processor_time(folder):
    lesson = lessons()[5]
    (folder / "lesson_5.py").write_text(answered(lesson, lesson.changed(lesson.wrong[0])))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = "import sys; from simstrategy_course.commands import grade; import typer; typer.run(grade)"
    run = subprocess.run([sys.executable, "-c", code, "lesson_5.py"], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (run.returncode, "A sum of the proposals" in run.stdout) == (1, True), run.stderr
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < PROCESSOR_S
