"""The attack at quick counts, and that it can fail; `ci/run.py deep attack` has the full one."""

import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

from misuse import Form, Program, drawn, misuses, piece, smaller
from misuse_verdict import judged, known_ones, verdict
from misuse_workers import Seen, Workers
from promises import elsewhere, promises
from promises_red import ended, shown

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGNS = ROOT / "ci" / "campaigns"
TABLE = misuses()
LETTERS = {"A": 19, "B": 4, "C": 7, "D": 6}


def seen(error=None, *, result="float 1.0", warnings=(), events=()):
    """Returns what became of a program in one worker."""
    kept = {"found": {"dict": []}, "result": {"text": result}, "error": error, "events": [*events]}
    return Seen((kept,), tuple(warnings))


def ours(name, text):
    return [name, text, [], "ours"]


def kinds(outcomes, expects="any", error="", *, shares=False):
    return [(one.kind, one.side) for one in judged(outcomes, expects, error, shares=shares)]


def asked(*options, **settings):
    """Returns the exit code and what the attack prints."""
    command = [sys.executable, str(CAMPAIGNS / "attack.py"), *options]
    environment = {**os.environ, **settings}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600, env=environment)
    return done.returncode, done.stdout + (done.stderr if done.returncode else "")


def test_every_promise_has_a_program_or_a_test_elsewhere():
    letters = {f"{letter}{number}" for letter, count in LETTERS.items() for number in range(1, count + 1)}
    programs = {one.letter for one in promises()}
    assert programs | set(elsewhere()) == letters
    assert not programs & set(elsewhere())
    assert [test for test in elsewhere().values() if not (ROOT / test).exists()] == []


def test_every_fragment_stands_in_a_program_that_is_python():
    for one in TABLE.values():
        inner = (piece(TABLE["a sum of plain arrays"]),) if one.wraps else ()
        for name, texts in one.options.items():
            for number in range(len(texts)):
                compile(Program((piece(one, {name: number}, inner),)).text(), one.name, "exec")


def test_a_program_of_a_seed_is_the_same_text_in_every_process():
    printed = {asked("--show", "7", PYTHONHASHSEED=seed)[1] for seed in ("1", "2")}
    assert printed == {drawn(TABLE, 0, 7).text() + "\n"}
    assert len({drawn(TABLE, 0, number).text() for number in range(50)}) == 50


def test_smaller_programs_are_python_and_have_an_end():
    program, steps = drawn(TABLE, 0, 3), 0
    while (nearer := next(smaller(program), None)) is not None:
        compile(nearer.text(), "program.py", "exec")
        program, steps = nearer, steps + 1
        assert steps < 200
    assert len(program.every()) == 1


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["other ops"], ("refused", "ReplicasDisagree")),
        (["a sum of plain arrays"], ("returns", "")),
        (["a sum of odd numbers", "other ops"], ("refused", "")),
        (["a source that raises", "other ops"], ("refused", "")),
        (["in a helper", "other ops"], ("refused", "ReplicasDisagree")),
        (["in a try that swallows", "other ops"], ("refused", "ReplicasDisagree")),
        (["in a try that swallows", "a stale context"], ("any", "")),
    ],
)
def test_what_a_program_has_to_come_to_follows_from_its_fragments(names, expected):
    first, *rest = [TABLE[name] for name in names]
    pieces = (piece(first, inner=tuple(map(piece, rest))),) if first.wraps else (piece(first), *map(piece, rest))
    assert Program(pieces).expected() == expected


def test_silence_accusations_and_other_errors_are_found():
    refused = seen(ours("ReplicasDisagree", "other calls"))
    assert kinds({"sim": seen()}, "refused", "ReplicasDisagree") == [("silence", "sim")]
    assert kinds({"sim": refused}, "refused", "ReplicasDisagree") == []
    assert kinds({"sim": refused}, "refused", "ContextError") == [("other error", "sim")]
    assert kinds({"sim": refused}, "returns") == [("accusation", "sim")]
    assert kinds({"sim": Seen((), (), "hangs: …")}, "any") == [("hang", "sim")]


def test_sides_that_differ_are_found():
    one, other = seen(ours("InvalidType", "on 'sim'")), seen(ours("InvalidType", "on 'torch'"))
    assert kinds({"sim": one, "torch": other}) == []
    assert kinds({"sim": seen(), "torch": other}) == [("differs", "torch")]
    assert kinds({"sim": seen(), "torch": seen(result="float 2.0")}) == [("differs", "torch")]
    assert kinds({"sim": seen(), "xla": seen(warnings=["diverged"])}) == [("differs", "xla")]
    assert kinds({"sim": seen(), "xla": seen(events=["all_reduce"])}) == [("differs", "xla")]
    raw = seen(["TypeError", "no", [], "elsewhere"])
    assert kinds({"sim": raw, "torch": seen(["ValueError", "never", [], "elsewhere"])}) == []
    assert kinds({"sim": raw, "torch": one}) == [("differs", "torch")]


def test_addresses_and_blame_are_found():
    assert kinds({"sim": seen(ours("InvalidType", "<object at 0x7f3a2b1c0d>"))}) == [("address", "sim")]
    assert kinds({"sim": seen(ours("ContractViolation", "Report it"))}) == [("blame", "sim")]


def test_an_excuse_covers_its_own_finding_alone():
    known = known_ones(TABLE)
    assert known
    first = known[0]
    program = Program((piece(TABLE["a sum of plain arrays"]),), Form())
    assert not any(first.covers(program, one) for one in judged({"sim": seen()}, "refused", "", shares=False))
    different = {"sim": seen(), "torch": seen(result="float 2.0")}
    word, left, used = verdict(program, different, known)
    assert (word, len(left), used) == ("DIFFERENT", 1, set())


@pytest.mark.slow
@pytest.mark.deep
def test_a_hang_and_an_end_of_a_process_are_outcomes_and_the_next_program_runs():
    def text(line):
        return f"import os\ndef program(strategy, found):\n    {line}\n    return 1\n"

    programs = [text("while True: pass"), text("os._exit(3)"), text("pass")]
    with mock.patch.dict(os.environ), Workers(["sim"], limit_s=4.0) as workers:
        found = [one["sim"] for one in workers.run([(text, Form()) for text in programs], ["sim"])]
    assert [one.stopped.partition(":")[0] for one in found] == [
        "hangs at line 3 in program",
        "its process ended with code 3",
        "",
    ]
    assert found[-1].workers[0]["result"] == {"text": "int 1"}


@pytest.mark.slow
@pytest.mark.deep
def test_a_few_programs_and_all_that_is_kept_agree_on_two_backends():
    code, printed = asked("--programs", "20", "--backends", "sim,torch", "--limit", "6")
    assert code == 0, printed
    assert "20 programs of seed 0 on sim, sim again, sim threads, cluster, torch" in printed


def test_every_promise_has_a_program_that_was_seen_to_fail_on_the_tree_before_or_a_reason():
    programs = shown()
    assert {one.letter for one in programs} == {
        f"{letter}{number}" for letter, count in LETTERS.items() for number in range(1, count + 1)
    }
    assert [one.letter for one in programs if bool(one.text) == bool(one.reason)] == []
    assert [one.letter for one in programs if one.reason] == ["A15"]
    for one in programs:
        compile(one.text, f"{one.letter}.py", "exec")


@pytest.mark.slow
def test_a_program_of_a_promise_fails_where_the_promise_is_broken(tmp_path):
    """Here, too, as its program is; the tree before is another commit, which `ci/run.py deep promises_red` unpacks."""
    kept = next(one for one in shown() if one.letter == "A9")
    assert ended(ROOT, kept, tmp_path) == ""
    broken = kept._replace(text=kept.text.replace("ReplicasDisagree", "PeerFailed"))
    assert "ReplicasDisagree" in ended(ROOT, broken, tmp_path)
    hangs = kept._replace(text="import time\ntime.sleep(60)", limit_s=1.0)
    assert ended(ROOT, hangs, tmp_path) == "hangs: it has not ended within 1 s"
