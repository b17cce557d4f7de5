"""Files of students as text: what is read of them, and what is refused."""

import pytest

from simstrategy_course.folder import graded_rows
from simstrategy_course.grading import grade
from simstrategy_course.holes import template_of
from simstrategy_course.lesson import CourseError
from simstrategy_course.reading import lesson_numbered
from simstrategy_course.submission import read_submission, submission_of

HUGE = "0x" + "f" * 5000


@pytest.mark.parametrize(
    "line", [f"LESSON = {HUGE}", f"LESSON = 3\nANSWERS = {{1: {HUGE}}}", "LESSON = 3; ANSWERS = {1: 1e300}"]
)
def test_a_number_of_too_many_digits_is_an_error_of_the_course(line):
    with pytest.raises(CourseError):
        submission_of(line, "lesson_3.py")


def test_a_file_that_breaks_the_grader_is_a_row_and_the_next_file_follows(tmp_path, runner, monkeypatch):
    def broken(*_, **__):
        raise ValueError("broken")

    monkeypatch.setattr("simstrategy_course.folder.grade", broken)
    files = [tmp_path / f"lesson_{name}.py" for name in "34"]
    for file in files:
        file.write_text("LESSON = 3\n")
    rows = list(graded_rows(files, tmp_path, runner))
    assert [row.state for row in rows] == ["unreadable", "unreadable"]
    assert "ValueError: broken" in rows[0].idea


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    file = tmp_path / "lesson_3.py"
    file.write_text(lesson_numbered(3).solution, encoding="utf-8-sig")
    assert read_submission(file).text == lesson_numbered(3).solution


@pytest.mark.parametrize(
    "definition",
    ["mean_of_batch = lambda losses: losses", "mean_of_batch: object = max", "from mine import mean_of_batch"],
)
def test_a_function_may_be_defined_by_an_assignment_or_an_import(definition):
    assert submission_of(f"LESSON = 3\n{definition}\n", "lesson_3.py").missing == ()


def test_answers_are_read_one_by_one_and_the_line_of_an_unreadable_one_is_named(runner):
    text = template_of(lesson_numbered(3).solution).replace("1: ...", "1: b")
    text = text.replace('"prediction": ...', '"prediction": "b"').replace("2: ...", "2: [1]")
    submission = submission_of(text, "lesson_3.py")
    line = next(number for number, one in enumerate(text.splitlines(), 1) if one.startswith("ANSWERS"))
    assert (submission.answers, submission.unread) == ({"prediction": "b"}, {"1": line, "2": line})
    assert f"Question 1: no answer yet. Hint: Line {line} cannot be read." in str(grade(submission, runner))
