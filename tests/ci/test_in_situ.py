"""What the campaign of bugs as they were calls found, and what it lists with a reason."""

import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import in_situ

BUG = in_situ.Bug(
    "one",
    "https://example.org/1",
    ("old==1",),
    ("old==2",),
    "padded_evaluation.py",
    ("--as", "torchrun"),
    ("for (batch,) in loader:",),
    ("lost",),
)
WRONG = (1, "replicas DIFFERS: 4 rows are lost at padded_evaluation.py:12", 2.0)
RIGHT = (0, "All runs agree.", 2.0)


def tried(old, corrected, bug=BUG):
    answers = {bug.packages: old, bug.corrected: corrected}
    return in_situ.tried(bug, Path("nowhere"), lambda _folder, packages, _bug: answers[packages])


def test_a_bug_is_found_where_it_is_named_and_the_corrected_package_is_not_accused():
    assert tried(WRONG, RIGHT) == (True, "found in 2 s; old==2 is not accused")
    assert tried(WRONG, None, BUG._replace(corrected=None)) == (True, "found in 2 s; no corrected package")
    for code, text in (("", "does not install: no wheel"), (1, "does not run: ImportError")):
        found, line = tried(WRONG, (code, text, 0.0))
        assert found
        assert line.endswith(text)


@pytest.mark.parametrize(
    ("old", "corrected", "line"),
    [
        (WRONG, WRONG, "ACCUSED"),
        (RIGHT, RIGHT, "NOT FOUND: exit code 0"),
        ((2, "Nothing was compared.", 1.0), RIGHT, "NOT FOUND: exit code 2"),
        ((None, "", 300.0), RIGHT, "NOT FOUND: exit code None"),
        ((1, "DIFFERS at padded_evaluation.py:12", 1.0), RIGHT, "noticed in 1 s, without 'lost'"),
        ((1, "DIFFERS, lost at padded_evaluation.py:13", 1.0), RIGHT, "noticed in 1 s, without 'a line of its place'"),
        ((1, "DIFFERS, lost at padded_evaluation.py:123", 1.0), RIGHT, "without 'a line of its place'"),
        (("", "does not install: no wheel", 0.0), RIGHT, "does not install: no wheel"),
        ((2, "does not run: ImportError", 1.0), RIGHT, "does not run: ImportError"),
    ],
)
def test_what_is_not_named_or_not_run_or_accused_when_corrected_is_not_found(old, corrected, line):
    found, text = tried(old, corrected)
    assert not found
    assert line in text


def test_a_line_of_a_package_is_looked_for_where_the_package_is(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "mean.py").write_text("a = 1\nif a:\n    a = 2\n    b = 3\n", encoding="utf-8")
    (pattern,) = in_situ.lines_of(("old/mean.py: a = 2",), "padded_evaluation.py", [tmp_path])
    assert re.search(pattern, "at old/mean.py:3 (called")
    assert not re.search(pattern, "at old/mean.py:31")
    assert in_situ.lines_of(("new/mean.py: a = 2",), "padded_evaluation.py", [tmp_path]) == []


def test_a_run_whose_ranks_disagree_has_a_finding_and_one_that_raises_has_none(monkeypatch):
    monkeypatch.setattr(in_situ, "environment", lambda _folder, _packages: ("python", None))
    for text, start in (
        ("repeat FAILED\nFirst differences:\nraises ReplicasDisagree: Ranks make different calls", "repeat"),
        ("repeat FAILED\nFirst differences:\nraises ImportError: no module", "does not run"),
    ):
        monkeypatch.setattr(in_situ, "checked", lambda _python, _bug, text=text: (1, text, 2.0))
        assert in_situ.side(Path("nowhere"), (), BUG)[1].startswith(start)


def test_what_does_not_install_is_listed_with_the_reason_and_what_does_is_reported():
    row = {"name": "old", "packages": ["torch==1.5.0"]}
    for problem, end in (("no such version", "does not install: no such version"), (None, "INSTALLS")):
        assert end in in_situ.refused(row, Path("nowhere"), lambda _folder, _packages, found=problem: ("python", found))


def test_every_row_has_a_program_a_source_a_place_and_what_its_finding_names():
    rows = in_situ.bugs()
    assert len({bug.name for bug in rows}) == len(rows)
    for bug in rows:
        program = in_situ.HERE / "in_situ" / bug.program
        lines = [line.strip() for line in program.read_text(encoding="utf-8").splitlines()]
        assert any(entry in lines for entry in bug.place)
        assert all(entry in lines or re.match(r"[\w/]+\.py: ", entry) for entry in bug.place)
        assert bug.source.startswith("https://github.com/")
        said = (bug.program, "replicas 2 against 1 DIFFERS", "FAILED", "NOT JUDGED", "at line 3")
        assert not any(re.search(pattern, text) for pattern in bug.names for text in said)
