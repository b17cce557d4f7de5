"""Each rule on sizes, chance, clauses and records sees what it forbids, and nothing else."""

from pathlib import Path

import pytest

from ci.tidy.clauses import check_clauses, check_kit, check_record
from ci.tidy.code import check_python
from ci.tidy.repository import check_repository
from ci.tidy.words import check_text

ROOT = Path(__file__).resolve().parents[2]


def rules(text, file="simstrategy/x.py"):
    return [violation.rule for violation in check_python(file, '"""What it is."""\n' + text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import random\n", "import of random"),
        ("from time import sleep\n", "import of time"),
        ("import threading\n", "import of threading"),
        ("from greenlet import greenlet\n", "import of greenlet"),
        ("x = [y for y in {1, 2}]\n", "iteration over a set"),
        ("for y in set(x):\n    pass\n", "iteration over a set"),
        ("x = list({1, 2})\n", "iteration over a set"),
        ("x = [*{1, 2}]\n", "iteration over a set"),
        ("x = hash('a')\n", "call of hash()"),
        ("x = sorted(y, key=id)\n", "use of id"),
        ("import os\nx = os.environ['A']\n", "use of os.environ"),
        ("x = eval('1')\n", "call of eval()"),
        ("def long():\n" + "    x = 1\n" * 51, "50 at most"),
        ("x = 1\n" * 320, "320 at most"),
    ],
)
def test_a_forbidden_thing_in_the_core_is_seen(text, expected):
    found = rules(text)
    assert len(found) == 1
    assert expected in found[0]


@pytest.mark.parametrize(
    "text",
    ["x = sorted({1, 2})\n", "for y in sorted(set(x)):\n    pass\n", "x = 1 in {1, 2}\n", "import hashlib\n"],
)
def test_what_is_allowed_is_not_reported(text):
    assert rules(text) == []


def test_a_file_that_may_use_threads_is_not_reported():
    assert rules("import threading\n", "simstrategy/run/threads.py") == []


def test_a_clock_outside_the_core_is_not_reported():
    assert rules("import time\n", "ci/bench/subjects.py") == []


def test_a_file_without_a_docstring_is_seen():
    assert "no docstring" in next(iter(check_python("ci/x.py", "x = 1\n"))).rule


def test_a_sleep_in_a_test_is_seen():
    assert "sleep in a test" in rules("time.sleep(1)\n", "tests/test_x.py")[0]


def test_a_clause_without_a_test_is_seen_and_one_with_a_test_is_not():
    found = list(check_clauses("# Law\n**A-1** One.\n**A-2** Two.\n", "# Clauses: A-2\n"))
    assert [(violation.line, violation.rule[:10]) for violation in found] == [(2, "clause A-1")]


GUIDE = "## What is examined\nB-1, B-2.\n"
KIT = '@property_test("B-1", x=1)\ndef test_one():\n    pass\n\n@clause("B-2")\ndef test_other():\n    pass\n'
THIRD = '@clause("B-3")\ndef test_third():\n    pass\n'


@pytest.mark.parametrize(
    ("guide", "kit", "expected"),
    [
        (GUIDE, KIT, ""),
        (GUIDE, KIT.partition("\n\n")[0], "clause B-2 has no test in the conformance kit"),
        (GUIDE.replace(", B-2", ""), KIT, "B-2 is examined, and docs/writing_a_backend.md does not list it"),
        (GUIDE.replace("B-2", "B-2, B-3"), KIT + THIRD, "there is no clause B-3 in docs/semantics.md"),
        ("B-1, B-2.\n", KIT, "no part '## What is examined'"),
    ],
)
def test_a_test_taken_out_of_the_kit_is_seen(guide, kit, expected):
    found = [one.rule for one in check_kit("**B-1** One.\n**B-2** Two.\n", guide, {"test_x.py": kit})]
    assert len(found) == bool(expected)
    assert all(expected in rule for rule in found)


def test_a_test_is_recognised_by_its_folder_or_name():
    long = "x = 1\n" * 320
    assert rules(long, "property_tests/simstrategy_conformance/clauses/test_x.py") == []
    assert rules(long, "property_tests/simstrategy_conformance/oracle.py") != []


def test_a_decision_record_without_its_parts_is_seen():
    assert len(list(check_record("docs/decisions/1.md", "## Context\n"))) == 2


def test_dead_words_are_seen_in_code_and_addresses_everywhere():
    assert [v.line for v in check_text("ci/x.py", "x\n# TO" + "DO later\n")] == [2]
    assert list(check_text("STYLE.md", "No TO" + "DO on main\n")) == []
    assert len(list(check_text("README.md", "see py" + "pi.org\n"))) == 1


@pytest.mark.slow
@pytest.mark.deep  # `ci/run.py test` begins with this step
def test_the_repository_itself_is_tidy():
    assert [str(violation) for violation in check_repository(ROOT).violations] == []
