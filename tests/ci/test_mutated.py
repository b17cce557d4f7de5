"""Mutants of lawful programs at quick counts: that they are what they are said to be, and that the count can fail."""

import ast
import sys
from pathlib import Path
from random import Random

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import mutated
from judge_adapter import Found, Judgement
from mutations import Source
from mutations_neutral import NEUTRAL
from mutations_planted import KINDS, PLANTED

ROOT = Path(__file__).resolve().parents[2]
QUICK = 28


def text_of(name):
    return (ROOT / "tests" / "judging" / "lawful" / f"{name}.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mutants")


@pytest.fixture(scope="module")
def wrong(folder):
    return mutated.mutants(3, QUICK, folder, wrong=True)


@pytest.fixture(scope="module")
def neutral(folder):
    return mutated.mutants(3, QUICK, folder, wrong=False)


@pytest.mark.slow
@pytest.mark.deep
def test_wrong_and_neutral_mutants_are_made_and_measured(wrong, neutral):
    assert wrong.candidates["depends"] == neutral.candidates["does not depend"] == QUICK
    assert {one.kinds[0] for one in wrong.kept} <= set(KINDS)
    assert len({one.kinds[0] for one in wrong.kept}) > 1
    assert all(one.kinds == () for one in neutral.kept)
    assert len({one.text for one in (*wrong.kept, *neutral.kept)}) == 2 * QUICK


@pytest.mark.slow
def test_mutants_are_the_same_for_the_same_seed(wrong, folder):
    again = mutated.mutants(3, 5, folder, wrong=True)
    assert again.kept == wrong.kept[:5]
    assert mutated.mutants(4, 5, folder, wrong=True).kept != wrong.kept[:5]


@pytest.mark.deep
@pytest.mark.slow
def test_every_edit_leaves_a_program_that_is_python_and_plants_a_kind():
    planted = set()
    for name in mutated.PROGRAMS:
        for way in (*PLANTED, *NEUTRAL):
            last = len(list(way(Source(text_of(name))))) - 1
            for number in sorted({0, last // 2, last}) if last >= 0 else ():
                source = Source(text_of(name))
                edit = list(way(source))[number]
                edit.apply(Random(number))
                ast.parse(source.text())
                assert source.text() != Source(text_of(name)).text(), edit.name
                assert (way in PLANTED) == bool(edit.kinds)
                planted.update(edit.kinds[:1])
    assert planted == set(KINDS)


def test_a_program_is_not_measured_as_dependent_for_rounding_or_for_what_each_replica_returns(tmp_path):
    programs = {
        "rounding": ("return 1.0 + 1e-6 * strategy.num_replicas_in_sync", "does not depend"),
        "small": ("return 1.0 + 1e-4 * strategy.num_replicas_in_sync", "unclear: near rounding"),
        "factor": ("return 1.0 * strategy.num_replicas_in_sync", "depends"),
        "more": ("return [0.0] * strategy.num_replicas_in_sync", "depends"),
        "own": ("return strategy.run(lambda: ss.get_replica_context().replica_id_in_sync_group)", "does not depend"),
        "some": ("return 1 / (strategy.num_replicas_in_sync - 3)", "raises for some numbers of replicas"),
        "all": ("return None + 1", "raises"),
        "text": ("return (", "raises SyntaxError"),
    }
    for name, (line, answer) in programs.items():
        file = tmp_path / f"{name}.py"
        file.write_text(f"import simstrategy as ss\n\n\ndef program(strategy):\n    {line}\n", encoding="utf-8")
        expected = "raises InvalidArgument" if name == "text" else answer
        assert mutated.measured(file) == expected


def answer(verdict, kind=None):
    """Returns a judgement whose finding, if any, has one kind."""
    findings = () if kind is None else (Found("replicas", kind),)
    return Judgement(verdict, findings, "a report")


@pytest.fixture
def judge(monkeypatch):
    """Puts a judge in place that gives these answers, one after the other."""

    def answering(answers):
        remaining = iter(answers)
        monkeypatch.setattr(mutated, "judged", lambda program: next(remaining))

    return answering


@pytest.mark.slow
def test_wrong_mutants_count_as_found_and_as_named_each_for_itself(wrong, folder, judge, capsys):
    judge([answer("agree")] * QUICK)
    assert not mutated.judge_wrong(wrong.kept, folder, 1)
    assert f"{'all':<55} {QUICK:>7} {0:>7} {0:>7}" in capsys.readouterr().out
    judge([answer("differ")] * QUICK)  # by another law than that of replicas
    assert not mutated.judge_wrong(wrong.kept, folder, 1)
    assert f"{'all':<55} {QUICK:>7} {0:>7} {0:>7}" in capsys.readouterr().out
    judge([answer("differ", "something else")] * QUICK)
    assert not mutated.judge_wrong(wrong.kept, folder, 1)
    assert f"{'all':<55} {QUICK:>7} {QUICK:>7} {0:>7}" in capsys.readouterr().out
    judge(answer("differ", one.kinds[0]) for one in wrong.kept)
    assert mutated.judge_wrong(wrong.kept, folder, 1)
    assert f"{'all':<55} {QUICK:>7} {QUICK:>7} {QUICK:>7}" in capsys.readouterr().out


@pytest.mark.slow
def test_one_accused_neutral_mutant_is_too_many(neutral, folder, judge, capsys):
    judge([answer("undecided")] * QUICK)
    assert mutated.judge_neutral(neutral.kept, folder, 1)
    judge([answer("differ"), *[answer("agree")] * QUICK])
    assert not mutated.judge_neutral(neutral.kept, folder, 1)
    assert "accused: 1" in capsys.readouterr().out


def test_no_mutants_are_no_success(capsys):
    with pytest.raises(SystemExit) as ended:
        mutated.main(["--count", "0"])
    assert ended.value.code == 2
    assert "--count" in capsys.readouterr().err
