"""The plugin in sessions of pytest: failures, the fixture, the marker, and programs that are hard to test."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sessions import run_pytest

from simstrategy_pytest import plugin

CASES = (Path(__file__).parent / "cases.txt").read_text()


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """The session of all cases."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "test_cases.py").write_text(CASES)
    return run_pytest(folder, derandomize=False)


RED = {
    "test_differs": "test_cases.py breaks the law of replicas (sim, replicas 3 against 1): result: element [0] is 3.0 ",
    "test_differs_by_name": "test_cases.py breaks the law of replicas (sim, replicas 3 against 1): result['one']: ",
    "test_differs_nested": "test_cases.py breaks the law of replicas (sim, replicas 3 against 1): ",
    "test_returns_nothing": "test_cases.py could not be judged: sim, replicas 2 against 1, InOrder(): nothing was ",
    "test_one_count": "test_cases.py could not be judged: ",
    "test_required": "test_cases.py could not be judged: ",
    "test_raises_with_two": "test_cases.py does not run as it must (sim, replicas 2): raises KeyError: 'two'",
    "test_needs_eight": "test_cases.py does not run as it must (sim, replicas 1): raises ValueError: 8 replicas",
    "test_not_repeatable": "test_cases.py could not be judged: sim, replicas 1, InOrder(): gives different values ",
    "test_drawn": "test_cases.py breaks the law of replicas (sim, replicas 2 against 1): result: ",
}
"""The first line of each failure with a report."""
OTHER_RED = {
    "test_plain_assertion",
    "test_last_replica_fails[3-replicas]",
    "test_disagree[2-replicas]",
    "test_returns[2-replicas]",
    "test_world_drawn_red[2-replicas]",
}


@pytest.mark.slow
def test_each_case_ends_as_it_must(ended):
    assert set(ended.failures) == {*RED, *OTHER_RED}, ended.output
    assert "1 skipped" in ended.output


@pytest.mark.slow
@pytest.mark.parametrize("name", RED)
def test_a_failure_begins_with_what_is_wrong_and_its_report(ended, name):
    text = ended.failures[name]
    assert text.startswith(RED[name])
    assert text.splitlines()[2:4][0] == "check of test_cases.py"
    assert "Traceback" not in text
    assert "lawful.py" not in text
    assert f"test_cases.py::{name}" in text.split("Repeat this test with: python -m pytest ")[1]
    for line in text.splitlines():
        assert line in ended.output


@pytest.mark.slow
def test_a_command_is_shown_only_where_it_repeats_the_check(ended):
    command = "Repeat this check with: simstrategy check test_cases.py"
    assert f"{command} --replicas 1,3\n" in ended.failures["test_differs"]
    options = "--replicas 1,3 --semantics TF2 --schedules in-order,seeded:3 --exempt 'two=drawn, not set'\n"
    assert f"{command} --function added {options}" in ended.failures["test_differs_by_name"]
    assert "Repeat this check" not in ended.failures["test_differs_nested"]


@pytest.mark.slow
def test_a_failing_example_is_shown_smallest_and_with_its_seed(ended):
    text = ended.failures["test_drawn"]
    assert "Failing test case: test_drawn(" in text
    assert "replicas=2," in text
    assert "--hypothesis-seed=" in text


@pytest.mark.slow
def test_other_failures_keep_their_form(ended):
    assert "assert 1 == 2" in ended.failures["test_plain_assertion"]
    assert "def test_plain_assertion" in ended.failures["test_plain_assertion"]


@pytest.mark.slow
def test_the_failure_of_a_replica_shows_its_line_and_names_it(ended):
    text = ended.failures["test_last_replica_fails[3-replicas]"]
    assert "world.rank < 2" in text
    assert "In replica 2: AssertionError raised at test_cases.py:" in text
    assert "strategy.py" not in text
    text = ended.failures["test_disagree[2-replicas]"]
    assert "replica 0: returned from test_disagree (test_cases.py:" in text
    assert "coordinator.py" not in text


@pytest.mark.slow
def test_a_marker_without_numbers_or_without_a_world_is_an_error_that_names_the_test(tmp_path):
    (tmp_path / "test_marks.py").write_text(
        "import pytest\n@pytest.mark.world_size()\ndef test_one(world): ...\n"
        "@pytest.mark.world_size(0)\ndef test_two(world): ...\n"
    )
    (tmp_path / "test_worlds.py").write_text("import pytest\n@pytest.mark.world_size(2)\ndef test_three(): ...\n")
    (tmp_path / "test_methods.py").write_text(
        "import pytest, torch\nclass TestFour:\n    @pytest.mark.world_size(2)\n    def test_five(self): ...\n"
    )
    ended = run_pytest(tmp_path)
    assert ended.code == 2
    assert "test_one: @pytest.mark.world_size takes numbers of replicas such as (1, 2, 4), got ()" in ended.output
    assert "test_three with @pytest.mark.world_size has no parameter `world`, and its file imports no" in ended.output
    assert "test_five with @pytest.mark.world_size is a method, and simulated ranks call functions" in ended.output


class Made:
    """What a test opened.  It may not be closed."""

    def __init__(self, closed, *, fails=False):
        self.closed, self.fails = closed, fails

    def close(self):
        self.closed.append(self)
        if self.fails:
            raise OSError("stuck")


def test_all_strategies_are_closed_also_after_one_that_cannot_be():
    closed = []
    made = [Made(closed), Made(closed, fails=True), Made(closed)]
    with pytest.raises(ExceptionGroup, match="could not be closed") as raised:
        plugin._close(made)
    assert len(closed) == 3
    assert made == []
    assert [str(error) for error in raised.value.exceptions] == ["stuck"]
