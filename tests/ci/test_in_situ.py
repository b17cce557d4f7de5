"""What the campaign of bugs as they were calls found, and what it lists with a reason."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import in_situ

BUG = in_situ.Bug(
    "one", "https://example.org/1", ("old==1",), ("old==2",), "a.py", ("--as", "torchrun"), ("a.py:", "lost")
)
WRONG = (1, "replicas DIFFERS: 4 rows are lost at a.py:3", 2.0)
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
        ((1, "DIFFERS at a.py:3", 1.0), RIGHT, "noticed in 1 s, without 'lost'"),
        (("", "does not install: no wheel", 0.0), RIGHT, "does not install: no wheel"),
        ((2, "does not run: ImportError", 1.0), RIGHT, "does not run: ImportError"),
    ],
)
def test_what_is_not_named_or_not_run_or_accused_when_corrected_is_not_found(old, corrected, line):
    found, text = tried(old, corrected)
    assert not found
    assert line in text


def test_every_row_has_a_program_a_source_and_what_its_finding_names():
    rows = in_situ.bugs()
    assert len({bug.name for bug in rows}) == len(rows)
    for bug in rows:
        assert (in_situ.HERE / "in_situ" / bug.program).is_file()
        assert bug.source.startswith("https://github.com/")
        assert any(bug.program in pattern for pattern in bug.names)
