"""The programs by which the judge is judged are what the table says; and the judge finds who is wrong, and no other."""

import ast
import functools
import itertools
import tomllib
from collections import Counter
from types import SimpleNamespace

import judged_table
import pytest
from corpus import FOLDER, lawful, marked_lines, repaired, wrong
from judge_adapter import (
    Found,
    Judgement,
    accusations,
    faults,
    found,
    judged,
    kind_of,
    place_of,
    why_not,
)
from measured import COUNTS, PER_REPLICA, distance, distances, first_step, moved, run_once
from shares import one_in

from simstrategy.check.programs import load_program

WRONG = {one.name: one for one in wrong()}
LAWFUL = {one.name: one for one in lawful()}
NOT_RIGHT = tomllib.loads((FOLDER / "not_right.toml").read_text(encoding="utf-8"))
LEAST = 1e-3
"""Far beyond rounding in float32."""
REPAIRED = 1e-5
"""What rounding in float32 makes of the repaired programs, at most."""


@functools.cache
def runs(folder, name):
    """Returns a program's runs with each number of replicas."""
    row = (WRONG if folder == "wrong" else LAWFUL)[name]
    return {count: run_once(row.program, count) for count in COUNTS}


@pytest.mark.parametrize("name", one_in(5, WRONG))
def test_a_wrong_program_depends_on_the_number_of_replicas_where_the_table_says_so(name):
    seen = runs("wrong", name)
    assert [one.error for one in seen.values()] == [None] * len(COUNTS)
    assert [count for count, far in moved(seen).items() if far >= LEAST] == WRONG[name].counts
    assert not any(LEAST > far >= LEAST / 100 for far in moved(seen).values())


@pytest.mark.parametrize("name", one_in(5, WRONG))
def test_a_wrong_program_shows_first_where_the_table_says_so(name):
    row, seen = WRONG[name], runs("wrong", name)
    only = {count: one._replace(observed=named(one.observed, row.observed)) for count, one in seen.items()}
    if not row.observed:
        assert first_step(seen, LEAST) is None
        return
    assert all(one.observed for one in only.values())
    assert first_step(only, 1e-5) == (row.steps[0], {row.observed})


def named(observed, name):
    """Returns the observed values of one name."""
    return {key: value for key, value in observed.items() if key[1].rpartition(" ")[0] == name}


@pytest.mark.parametrize("name", one_in(5, WRONG))
def test_a_wrong_program_is_wrong_in_nothing_but_what_the_table_says(name, tmp_path):
    program = load_program(repaired(WRONG[name], tmp_path))
    seen = {count: run_once(program, count) for count in COUNTS}
    assert [one.error for one in seen.values()] == [None] * len(COUNTS)
    assert {count: far for count, far in moved(seen).items() if far > REPAIRED} == {}


@pytest.mark.parametrize("name", one_in(3, LAWFUL))
def test_a_lawful_program_does_not_depend_on_the_number_of_replicas(name):
    row, seen = LAWFUL[name], runs("lawful", name)
    assert [one.error for one in seen.values()] == [None] * len(COUNTS)
    for count in COUNTS[1:]:
        far = distances(seen[1], seen[count])
        judged_paths = {path: one for path, one in far.items() if not path.startswith(tuple(row.left_out))}
        assert judged_paths or row.verdicts == ["undecided"]
        assert {path: one for path, one in judged_paths.items() if one > row.rounding} == {}


@pytest.mark.parametrize("name", [name for name, row in LAWFUL.items() if row.left_out])
def test_what_the_table_leaves_out_of_a_lawful_program_does_depend_on_the_replicas(name):
    seen = runs("lawful", name)
    for path in LAWFUL[name].left_out:
        one, *others = [
            {key: leaf for key, leaf in run.leaves.items() if key.startswith(path)} for run in seen.values()
        ]
        assert any(one.keys() != other.keys() or any(unlike(one[key], other[key]) for key in one) for other in others)


def unlike(one, two):
    """Returns whether a leaf is of another form for another number of replicas, or differs far beyond rounding."""
    return (one is PER_REPLICA) != (two is PER_REPLICA) or distance(one, two) >= LEAST


def test_the_table_and_the_folders_have_the_same_programs():
    assert sorted(WRONG) == sorted(path.stem for path in (FOLDER / "wrong").glob("*.py"))
    assert sorted(LAWFUL) == sorted(path.stem for path in (FOLDER / "lawful").glob("*.py"))
    assert len(WRONG) >= 24
    assert len(LAWFUL) >= 30
    assert sum(bool(row.suspicious) for row in LAWFUL.values()) >= 10


def test_every_kind_has_two_programs():
    kinds = Counter(row.kinds[0] for row in WRONG.values())
    assert [kind for kind, count in kinds.items() if count < 2] == []


def test_the_judges_texts_are_read_as_the_kinds_of_the_table():
    kinds = {kind for row in WRONG.values() for kind in row.kinds}
    assert {kind: kind_of(f"It looks like {kind.upper()}.") for kind in kinds} == {kind: kind for kind in kinds}
    assert kind_of("something else") == "something else"
    places = [place_of(("/b/a.py", 3)), place_of("at /b/train.py:14"), place_of(None)]
    assert places == [("a.py", 3), ("train.py", 14), ("", None)]


def test_a_finding_is_read_whatever_it_leaves_open():
    finding = SimpleNamespace(
        law="replicas", replicas="3 against 1", kind="Mean of means.", step=3, variable="w", site=("/a/b.py", 7)
    )
    assert found(finding) == Found("replicas", "mean of means", 2, "w", "b.py", 7, 3)
    finding = SimpleNamespace(law="replicas", replicas="", kind=None, step=None, variable=None, site=None)
    assert found(finding) == Found("replicas", "not recognised")


def test_an_answer_is_right_in_nothing_but_what_it_names():
    row = WRONG["lost_remainder"]
    right = Found("replicas", row.kinds[0], row.steps[0], "", *max(row.places))
    assert faults(row, Judgement("differ", (right,), "")) == []
    assert faults(row, Judgement("agree", (), "")) == ["verdict agree, findings of the law: 0"]
    assert faults(row, Judgement("undecided", (right,), "")) == ["verdict undecided, findings of the law: 1"]
    assert faults(row, Judgement("differ", (right._replace(law="order"),), "")) != []
    other = Found("replicas", "mean of means", 7, "w", "other.py", 1)
    assert faults(row, Judgement("differ", (other, right), "")) == [
        "kind mean of means",
        "step 7",
        "place other.py:1",
    ]
    named = WRONG["trimmed_to_shortest"]
    assert "variable 'w'" in faults(named, Judgement("differ", (other,), ""))
    assert accusations(["agree"], Judgement("agree", (), "")) == []
    assert accusations(["agree"], Judgement("undecided", (), "")) == ["verdict undecided"]
    assert accusations(["agree"], Judgement("agree", (right,), "")) == ["finding: missing samples"]


def test_the_table_of_answers_counts_those_that_are_not_right(monkeypatch, capsys):
    monkeypatch.setattr(judged_table, "why_not", lambda: None)
    monkeypatch.setattr(judged_table, "judged", lambda program: Judgement("agree", (), ""))
    assert judged_table.main(["lost_remainder", "k_means"]) == 1
    printed = capsys.readouterr().out
    assert "3 programs, 1 with an answer that is not right" in printed
    assert printed.count("WRONG: verdict agree") == 1
    assert judged_table.main(["k_means"]) == 0
    monkeypatch.setattr(judged_table, "why_not", lambda: "no law")
    assert judged_table.main([]) == 2


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_program_marks_its_mistake_once(name):
    texts = [file.read_text(encoding="utf-8") for file in WRONG[name].sources]
    assert sum(text.count("# wrong:") for text in texts) == 1
    for text in texts:
        statements = {line for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) for line in span(node)}
        assert set(marked_lines(text)) <= statements


def span(node):
    return range(node.lineno, node.end_lineno + 1)


def test_no_two_programs_have_one_skeleton():
    lines = {
        row.name: set(ast.unparse(ast.parse(row.file.read_text(encoding="utf-8"))).splitlines()) - {""}
        for row in (*WRONG.values(), *LAWFUL.values())
    }
    for one, two in itertools.combinations(lines, 2):
        assert len(lines[one] & lines[two]) < 0.5 * min(len(lines[one]), len(lines[two])), (one, two)


@pytest.fixture(scope="module")
def judge():
    """Skips where the judge has no law of replicas."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.mark.slow
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", one_in(2, WRONG))
def test_the_judge_finds_a_wrong_program_with_the_numbers_of_replicas_that_show_it(name):
    answer = judged(WRONG[name].program)
    assert answer.verdict == "differ", answer.text
    assert answer.counts == WRONG[name].counts, answer.text


@pytest.mark.slow
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", one_in(2, WRONG))
def test_the_judge_names_kind_step_variable_and_line_of_a_wrong_program(name):
    """But for those of `not_right.toml`, which are exactly as wrong as it says."""
    answer = judged(WRONG[name].program)
    assert faults(WRONG[name], answer) == NOT_RIGHT.get(name, {"faults": []})["faults"], answer.text


def test_what_the_judge_does_not_get_right_is_a_part_of_the_programs_with_a_reason():
    assert set(NOT_RIGHT) <= set(WRONG)
    assert all(row["faults"] and len(row["reason"]) > 20 for row in NOT_RIGHT.values())
    assert len(NOT_RIGHT) <= len(WRONG) // 4
    named_wrongly = [one for row in NOT_RIGHT.values() for one in row["faults"] if one.startswith("kind")]
    assert set(named_wrongly) <= {"kind not recognised"}


@pytest.mark.slow
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", LAWFUL)
def test_the_judge_accuses_no_lawful_program(name):
    answer = judged(LAWFUL[name].program)
    assert accusations(LAWFUL[name].verdicts, answer) == [], answer.text


@pytest.mark.slow
@pytest.mark.usefixtures("judge")
@pytest.mark.parametrize("name", one_in(2, WRONG))
def test_the_judge_accuses_no_repaired_program(name, tmp_path):
    answer = judged(load_program(repaired(WRONG[name], tmp_path)))
    assert accusations(["agree"], answer) == [], answer.text
