"""Faults planted in scripts, one in each run: a job that loses a rank ends, and not as if all was well.

Clauses: G-72, G-73, G-74, G-75, G-76, G-77.
"""

import os

import forks
import pytest
from commanded import LIMIT_S, torchrun
from fault_scripts import ALL, BEGIN, SCRIPTS
from shares import one_in

from simstrategy.check.scripts import check_script
from simstrategy.check.scripts import faults as law
from simstrategy.check.scripts.faults import KINDS
from simstrategy_torch_distributed.checking import front

pytestmark = pytest.mark.slow


@pytest.fixture
def checked(warm_checks, tmp_path, monkeypatch):
    """Judges a script by the law of faults; its runs begin in a folder with nothing but the script."""
    monkeypatch.chdir(tmp_path)

    def check(text, kinds, **settings):
        (tmp_path / "script.py").write_text(text)
        given = {"replicas": [2], "same_on": ["faults"], "faults": kinds, **settings}
        return check_script(front.runner_of, "script.py", **given)

    return check


@pytest.mark.parametrize("name", one_in(4, SCRIPTS, deep=["ddp_that_saves_in_one_step", "gradients_by_hand"]))
def test_what_a_fault_leaves_behind_is_found_and_a_right_answer_is_not(checked, tmp_path, monkeypatch, name):
    script = SCRIPTS[name]
    points = 3 if len(script.kinds) == 1 else 2
    monkeypatch.setattr(law, "FAULTS_MAX", 2 * points * len(script.kinds))
    report = checked(script.text, script.kinds)
    found = {
        word: row for row in report.rows for word, kind in KINDS.items() if KIND_OF[row.schedule.split(",")[0]] == kind
    }
    assert {word for word, row in found.items() if row.problem is not None} == {*script.wrong}, str(report)
    for word, part in script.wrong.items():
        assert part in found[word].problem, str(report)
    assert {*script.kinds} - {*found} <= {"inf", "input"}, str(report)
    assert all(row.undecided is None for row in report.rows), str(report)
    for note in script.notes:
        assert note in str(report)
    assert "the script leaves" not in str(report) or any("leaves" in note for note in script.notes), str(report)
    assert report.verdict == ("differ" if script.wrong else "agree")
    assert os.listdir(tmp_path) == ["script.py"]


KIND_OF = {
    "an exception in one replica": "exception",
    "inf in one replica's value": "inf",
    "inf in one replica's argument": "inf in its input",
    "an early end of one replica": "early end",
    "a dead replica": "dead",
    "a stopped replica": "stopped",
}


@pytest.mark.deep
def test_more_points_than_the_limit_are_chosen_and_the_row_states_it(checked, monkeypatch):
    monkeypatch.setattr(law, "FAULTS_MAX", 4)
    text = BEGIN + "for _ in range(9):\n    dist.barrier()\n"
    (row,) = checked(text, ["kill"]).rows
    assert (row.schedule, row.why) == ("a dead replica, at 2 of 9 points", "holds in 4 runs")


def test_a_script_that_fails_or_makes_no_call_is_not_judged(checked):
    report = checked("raise ValueError('wrong')\n", ["kill"])
    assert report.verdict == "undecided"
    assert "no fault was planted: the script fails without one: PeerFailed: Rank 0 has failed" in str(report)
    assert "The program used nothing of its strategies" not in str(report)
    report = checked(BEGIN, ["kill"])
    assert report.verdict == "undecided"
    assert "no fault was planted: the script makes no collective call" in str(report)
    assert "used nothing of its strategies" not in str(report)


@pytest.mark.deep
def test_the_command_prints_the_table_and_takes_no_file_for_one_run(tmp_path):
    (tmp_path / "script.py").write_text(BEGIN + "assert sys.argv[1] == '{x}'\ndist.all_reduce(rows)\n")
    options = ("--nproc-per-node", "2", "--faults", "exception,inf")
    ended = forks.torchrun([*options, "script.py", "{x}"], tmp_path, LIMIT_S)
    assert ended.returncode == 0, ended.stderr
    assert "an exception in one replica, at each of 1 point" in ended.stdout
    assert "All runs agree" in ended.stdout
    run = torchrun(tmp_path, BEGIN, "--faults", "all", ranks=2)
    assert run.code == 2
    assert "many runs, of which --json would show one" in run.err
    assert tuple(KINDS) == ALL
