"""The law of faults for scripts, with a front that computes what a script would: no process is started.

Clauses: G-72, G-73, G-74, G-75, G-76, G-77.
"""

from pathlib import Path

import numpy as np
import pytest

from simstrategy.check.fault_plan import spread
from simstrategy.check.scripts import check_script
from simstrategy.check.scripts.facts import Ended, Ending, ScriptRun, Value
from simstrategy.check.scripts.faults import KINDS, require_kinds
from simstrategy.check.scripts.folders import fresh_folder, incomplete, written
from simstrategy.errors import InvalidArgument

DONE = Ending(0, "has ended", steps=2)
LOST = Ending(1, "PeerFailed(Rank 1 has failed) raised at train.py:9")
CALLS = ("all_reduce SUM float32[2] at train.py:8", "barrier at train.py:9")
W = "parameter 'w' at the end"


def value(*copies):
    return Value(W, tuple(np.float32([one]) for one in copies), "float32", is_state=True)


ONE = value(1.0)


def run(first, second, *, finding=None, text="", values=(ONE,), planted=True):
    """A run of two replicas that end so."""
    codes = [one.code for one in (first, second)]
    error = ("PeerFailed", text) if finding or any(codes) else None
    ended = Ended((first, second), planted, (CALLS, CALLS), (2, 2), finding, text, tuple(values))
    return ScriptRun(error, "", (), ended=ended)


class Fake:
    """A runner whose script does what a function of the settings returns.  It keeps the faults."""

    name, nothing, laws, rank_text = "torchrun", "nothing", (), None

    def __init__(self, script):
        self.script, self.faults = script, []

    def __call__(self, name):
        return self

    def run(self, settings):
        self.faults.append(settings.fault)
        return self.script(settings)

    def close(self):
        """Nothing is shared."""


def judged(kinds, fault_run, **settings):
    """Judges a script that is right without a fault.  fault_run: of a fault."""
    fake = Fake(lambda given: run(DONE, DONE) if given.fault is None else fault_run(given.fault))
    report = check_script(fake, "train.py", replicas=[2], faults=kinds, same_on=["faults"], **settings)
    return report, fake


def ends(fault, of_faulted, of_other, **settings):
    pair = (of_faulted, of_other) if fault.replica == 0 else (of_other, of_faulted)
    return run(*pair, **settings)


def test_a_script_that_ends_with_named_errors_holds():
    report, fake = judged(["kill"], lambda fault: ends(fault, Ending(-9, "was killed"), LOST, finding="failure"))
    assert report.verdict == "agree", str(report)
    (row,) = report.rows
    assert (row.schedule, row.why) == ("a dead replica, at each of 2 points", "holds in 4 runs")
    assert [(one.kind, one.replica, one.point) for one in fake.faults[1:]] == [
        ("dead", 0, 1),
        ("dead", 1, 1),
        ("dead", 0, 2),
        ("dead", 1, 2),
    ]
    assert str(report).endswith("All runs agree: 1 value; replicas 2; law of faults; with faults.")


@pytest.mark.parametrize(
    ("kind", "first", "second", "settings", "problem"),
    [
        ("kill", Ending(-9, ""), Ending(-15, "", is_forced=True), {}, "replica 1 does not end after the failure"),
        (
            "kill",
            Ending(-9, ""),
            Ending(-11, "is killed by signal 11"),
            {},
            "replica 1 is killed by signal 11, without",
        ),
        (
            "stop",
            Ending(-15, ""),
            Ending(-15, "", is_forced=True),
            {"finding": "overdue", "text": "no call"},
            "it hangs: no call",
        ),
        (
            "exit",
            DONE,
            Ending(0, "", caught="train.py:3"),
            {"finding": "blocked"},
            "replica 1 catches the error at train",
        ),
        ("exception", DONE, DONE, {"values": (value(2.0),)}, "ends with exit code 0 although replica 0 failed: param"),
        ("exception", DONE, DONE, {"values": ()}, f"{W} is missing in the end"),
        (
            "exception",
            Ending(1, "ReplicasDisagree", caught="train.py:7"),
            LOST,
            {"finding": "disagreement", "text": "rank 0: barrier"},
            "the exception is caught at train.py:7, and the replica goes on without the call that the others make",
        ),
        ("inf", LOST, LOST, {"finding": "disagreement", "text": "x"}, "only some replicas skip a step where a value"),
        ("inf", DONE, DONE._replace(steps=1), {}, "they make [2, 1] steps"),
        ("input", DONE, DONE, {"values": (value(1.0, 2.0),)}, f"not reduced: {W} not equal on all replicas any more"),
        ("input", DONE, DONE, {"values": (value(1.0, np.nan),)}, "element 0 is 1.0 on replica 0 and nan on replica 1"),
    ],
)
def test_a_wrong_end_is_a_problem_with_replica_and_point(kind, first, second, settings, problem):
    report, _ = judged([kind], lambda fault: ends(fault, first, second, **settings))
    assert report.verdict == "differ"
    (row,) = report.rows
    assert problem in row.problem
    assert row.problem.startswith(
        "replica 0, call 1 of a model" if kind == "input" else f"replica 0, point 1, {CALLS[0]}"
    )


@pytest.mark.parametrize(
    ("kind", "first", "second", "settings"),
    [
        ("exception", DONE, DONE, {}),  # made again
        ("exit", DONE, LOST, {"finding": "blocked"}),
        ("inf", DONE, DONE, {"values": (value(np.nan, np.nan),)}),
        ("inf", Ending(1, "ValueError"), LOST, {"finding": "failure"}),
        ("kill", Ending(-9, ""), LOST, {"finding": "failure"}),
        ("stop", Ending(-15, "", is_forced=True), DONE, {"finding": "overdue"}),  # no other one waits for it
    ],
)
def test_a_right_end_is_no_problem(kind, first, second, settings):
    report, _ = judged([kind], lambda fault: ends(fault, first, second, **settings))
    assert report.verdict == "agree", str(report)


def test_a_replica_that_computes_for_long_is_not_judged():
    busy = Ending(-15, "", is_forced=True, was_busy=True)
    report, _ = judged(["kill"], lambda fault: ends(fault, Ending(-9, ""), busy, finding="failure"))
    assert report.verdict == "undecided"
    assert "replica 1 computes for longer than the run waits for it" in str(report)


def test_who_goes_on_without_a_killed_replica_is_noted():
    report, _ = judged(
        ["kill"], lambda fault: ends(fault, Ending(-9, ""), Ending(0, "", caught="train.py:3"), finding="failure")
    )
    assert report.verdict == "agree"
    assert "replica 1 catches the error at train.py:3 and ends with exit code 0" in str(report)


def test_a_point_that_is_not_reached_again_is_not_judged_but_for_inf_without_floats():
    report, _ = judged(["kill"], lambda fault: run(DONE, DONE, planted=False))
    assert report.verdict == "undecided"
    assert "the point was not reached again" in str(report)
    report, _ = judged(["inf", "exit"], lambda fault: run(DONE, DONE, planted=fault.kind != "inf"))
    assert [row.schedule for row in report.rows] == ["an early end of one replica, at each of 2 points"]


def write(folder, name, data):
    Path(folder, name).write_bytes(data)


def test_a_retry_in_the_folder_that_fails_is_a_problem_and_what_is_left_is_noted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = b"PK\x05\x06" + bytes(18)

    def script(settings):
        if settings.fault is None:
            is_retry = Path(settings.folder, "state.pt").exists()
            broken = is_retry and Path(settings.folder, "state.pt").read_bytes() != whole
            if not is_retry:
                write(settings.folder, "state.pt", whole)
            return run(*[Ending(1, "no archive")] * 2) if broken else run(DONE, DONE)
        write(settings.folder, "state.pt", b"PK\x03\x04 half")
        write(settings.folder, "state.part", b"half")
        return ends(settings.fault, Ending(-9, ""), LOST, finding="failure")

    report = check_script(Fake(script), "train.py", replicas=[2], faults=["kill"], same_on=["faults"])
    assert "the next run in the same folder fails, of which the fault has left state.part, state.pt" in str(report)
    assert "After a dead replica the script leaves state.pt, which is an archive without its end." in str(report)
    assert "state.part, which no run without a fault leaves" in str(report)
    assert not [*tmp_path.iterdir()]


def test_a_fresh_folder_has_what_the_current_one_has_and_keeps_what_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.txt").write_text("1")
    (tmp_path / "old.txt").write_text("old")
    with fresh_folder() as folder:
        assert (folder / "data" / "rows.txt").read_text() == "1"
        (folder / "saved").mkdir()
        (folder / "saved" / "model.bin").write_bytes(b"123")
        (folder / "new.txt").write_text("new")
        (folder / "new.txt").replace(folder / "old.txt")
        assert written(folder) == {"old.txt": 3, "saved/model.bin": 3}
    assert not folder.exists()
    assert (tmp_path / "old.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pt", b"PK\x03\x04 half", "an archive without its end"),
        ("a.json", b'{"a": ', "no whole JSON"),
        ("a.bin", b"", "empty"),
        ("a.json", b'{"a": 1}', None),
        ("a.log", b"step 1\nst", None),
    ],
)
def test_a_file_that_cannot_be_read_is_recognised(tmp_path, name, data, reason):
    write(tmp_path, name, data)
    assert incomplete(tmp_path, name, {name: 100}) == reason


def test_a_script_that_fails_without_a_fault_is_not_judged():
    fails = Fake(lambda settings: run(LOST, LOST))
    report = check_script(fails, "train.py", replicas=[2], faults=["all"], same_on=["faults"])
    assert report.verdict == "undecided"
    assert "the script fails without one" in str(report)
    assert len(fails.faults) == 1


def test_kinds_are_chosen_by_words_and_points_by_a_seed():
    assert require_kinds(["all"]) == require_kinds([]) == tuple(KINDS.values())
    assert require_kinds(["stop", "exception"]) == ("exception", "stopped")
    with pytest.raises(InvalidArgument, match="There is no fault 'fire': choose from exception, inf, input"):
        require_kinds(["fire"])
    chosen = [spread(range(1, 101), 5, seed) for seed in (0, 1, 1, 2)]
    assert chosen[0] == [1, 26, 51, 75, 100]
    assert chosen[1] == chosen[2] != chosen[3]
    assert all((one[0], one[-1], len({*one})) == (1, 100, 5) for one in chosen)
