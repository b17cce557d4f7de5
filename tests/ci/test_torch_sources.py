"""How the campaign of public torch programs starts a command on each side, and what it calls a difference."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import torch_sources

REPORT = """<testsuites><testsuite>
<testcase classname="t" name="a"/><testcase classname="t" name="b"><failure/></testcase>
<testcase classname="t" name="c"><skipped/></testcase><testcase classname="t" name="d"><error/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("text", "side", "settings", "begin", "end"),
    [
        ("A=1 B=x=y torchrun --nproc-per-node=2 a.py", "gloo", {"A": "1", "B": "x=y"}, "torch.distributed.run", "a.py"),
        ("torchrun a.py", "simulated", {}, "simstrategy_torch_distributed", "a.py"),
        ("python a.py --n 4", "gloo", {}, "a.py", "4"),
        ("python a.py --n 4", "simulated", {}, "simstrategy_torch_distributed", "4"),
        ("python -m pytest t.py", "gloo", {}, "pytest", "t.py"),
    ],
)
def test_a_command_is_started_by_what_its_side_has(text, side, settings, begin, end):
    found, command = torch_sources.command_of(text, torch_sources.sides("python")[side], "report.xml")
    assert found == settings
    assert begin in command[:3]
    assert command[-1] == end


def test_only_the_simulated_side_has_the_options_for_simulated_ranks():
    sides = torch_sources.sides("python")
    assert "--simulated-ranks" in sides["simulated"].pytest
    assert "--spawned" in sides["simulated"].python
    assert not {"--simulated-ranks", "--spawned"} & {word for words in sides["gloo"] for word in words}


def test_tests_that_end_otherwise_are_the_difference_and_of_scripts_the_exit_code(tmp_path):
    file = tmp_path / "report.xml"
    file.write_text(REPORT)
    tests = torch_sources.tests_of(file)
    assert tests == {"t.a": "passed", "t.b": "failed", "t.c": "skipped", "t.d": "failed"}
    there = torch_sources.Ended(1, 2.0, tests, "")
    assert there.counted() == "1 passed, 2 failed, 1 skipped"
    assert torch_sources.differences(there, there) == []
    here = there._replace(tests={**tests, "t.a": "failed"})
    assert torch_sources.differences(there, here) == ["t.a: passed there, failed here"]
    script = torch_sources.Ended(0, 2.0, {}, "")
    assert torch_sources.differences(script, script._replace(code=1)) == ["exit code 0 there, 1 here"]


def test_a_session_of_which_no_test_passes_shows_nothing():
    nothing = torch_sources.Ended(2, 1.0, {}, "")
    assert not torch_sources.has_passed(nothing)
    assert not torch_sources.has_passed(nothing._replace(tests={"t.a": "skipped", "t.b": "failed"}))
    assert torch_sources.has_passed(nothing._replace(tests={"t.a": "passed", "t.b": "failed"}))
    assert torch_sources.has_passed(nothing._replace(code=0))
