"""Generated wrong backends at quick counts: that they are what they are said to be, and that each end is recognised."""

import ast
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

pytest.importorskip("simstrategy_conformance")
sys.path.append(str(Path(__file__).resolve().parents[2] / "ci" / "campaigns"))

import backend_mutants
from backend_child import Unit
from backend_drawing import FILES, all_edits, drawn, left_out, read_reasons
from backend_edits import Text, edits_of, same_code
from backend_operators import OPERATORS
from backend_report import short_of, unreached_lines
from backend_runs import Copies, probed_text, watched

COLLECTIVES = "simstrategy/sim/collectives.py"
SUMMED = Unit("test_a_sum_of_negative_zeros_is_a_negative_zero", 0, "B-9", "")
TEXT = '''"""A file."""
from functools import reduce


def total(arrays, axis):
    """Adds."""
    if len(arrays) > 1 and axis in "ab":
        return sum(one for one in arrays[1:])
    return np.array(arrays[0], copy=True).astype("float32")
'''


@pytest.fixture(scope="module")
def edits():
    return all_edits()


def test_every_operator_has_edits_and_every_edit_a_name_of_its_own(edits):
    assert {edit.operator for _, edit in edits} == set(OPERATORS)
    assert len({name for name, _ in edits}) == len(edits)
    assert {edit.file for _, edit in edits} == set(FILES)


def test_an_edit_changes_its_place_and_leaves_every_line_where_it_was():
    source = Text("a.py", TEXT)
    changed = {edit.after: source.with_edit(edit) for edit in edits_of("a.py", TEXT)}
    assert "    return (np.asarray(arrays[0])).astype" in changed["np.asarray(arrays[0])"]
    assert "sum((one for one in tuple(arrays[1:])[::-1]))" in changed["(one for one in tuple(arrays[1:])[::-1])"]
    for text in changed.values():
        ast.parse(text)
        assert text.splitlines()[:4] == TEXT.splitlines()[:4]
        assert text.splitlines()[5] == TEXT.splitlines()[5]


def test_a_message_and_a_type_are_no_places_for_edits():
    text = 'def f(x: int = 1) -> int:\n    raise InvalidType(f"{x + 1} is not {x}")\n'
    assert {edit.before for edit in edits_of("a.py", text)} == {
        "1", "InvalidType", text.splitlines()[1].strip().replace('"', "'")
    }  # fmt: skip


def test_mutants_are_the_same_for_the_same_seed_and_others_for_another(edits):
    first, again = ([one.name for one in islice(drawn(edits, "1", frozenset()), 50)] for _ in range(2))
    assert first == again
    assert [one.name for one in islice(drawn(edits, "2", frozenset()), 50)] != first
    assert not {one.name for one in islice(drawn(edits, "1", frozenset(first)), 50)} & set(first)


def test_equal_code_is_recognised_whatever_its_lines():
    assert same_code("x = (1)\n", "\nx = 1\n", "a.py")
    assert not same_code("x = 1\n", "x = 2\n", "a.py")
    assert not same_code("def f(x=1): pass\n", "def f(x=True): pass\n", "a.py")


def test_an_edit_that_is_no_python_is_left_out(edits):
    edit = next(one for _, one in edits if one.operator == "other flag")
    assert left_out(edit._replace(after="for")) == "no Python"
    assert left_out(edit._replace(after=edit.before)) == "the same code"
    assert left_out(edit) == ""


def test_probes_count_each_statement_by_its_line():
    counts = Counter()
    names = {"_executed": lambda *place: counts.update((place,))}
    exec(compile(probed_text("a.py", "x = 0\nfor one in range(3):\n    x += one\n"), "a.py", "exec"), names)
    assert counts == {("a.py", 1): 1, ("a.py", 2): 1, ("a.py", 3): 3}


def test_the_reasons_are_of_edits_and_functions_that_are_there(edits):
    equivalent, unreached = read_reasons(edits)
    assert len(equivalent) > 100
    assert unreached.keys() <= {(edit.file, edit.function) for _, edit in edits}


def test_a_reason_of_an_edit_that_nothing_makes_ends_the_campaign(edits, monkeypatch, tmp_path):
    file = tmp_path / "reasons.toml"
    fields = {"file": "a.py", "function": "f", "operator": "o", "before": "b", "after": "a", "reason": "r"}
    file.write_text("[[equivalent]]\n" + "".join(f'{key} = "{value}"\n' for key, value in fields.items()))
    monkeypatch.setattr("backend_drawing.REASONS", file)
    with pytest.raises(SystemExit, match="no edit is"):
        read_reasons(edits)


def test_a_function_without_a_reason_is_counted(edits):
    one, other = edits[0][1], edits[-1][1]
    lines, unnamed = unreached_lines([one, other], {(one.file, one.function): "since it is so"})
    assert unnamed == 1
    assert lines[-1].endswith("NO REASON") or lines[-2].endswith("NO REASON")


ENDS = {
    "passes": "pass",
    "fails": "return np.zeros(3)",
    "dies": "__import__('os').kill(__import__('os').getpid(), 9)",
    "hangs": "__import__('time').sleep(60)",
    "not opened": "",
}
"""By how a process ends, what the simulator's sum begins with; nothing is no Python."""


def endings(folder):
    """Returns how mutants end; for a process that has not imported what they change."""
    text = (Path(backend_mutants.ROOT) / COLLECTIVES).read_text(encoding="utf-8")
    start = "    return fold(list("
    tasks = [
        (way, {COLLECTIVES: text.replace(start, f"    {first or '('}\n{start}")}, "sim", "quick", (SUMMED,), False)
        for way, first in ENDS.items()
    ]
    found = watched(tasks, Copies(Path(folder), 2), lambda _: 2.0)
    return sorted(f"{way}: {ended.verdict}; {short_of(ended)}" for way, ended in found)


@pytest.mark.slow
def test_each_way_to_end_is_recognised(tmp_path):
    command = f"import test_backend_mutants as here; print(*here.endings({str(tmp_path)!r}), sep=chr(10))"
    folder = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        f"dies: dies; killed by its end in {SUMMED}",
        f"fails: fails; killed by {SUMMED}",
        f"hangs: hangs; killed by the limit in {SUMMED}",
        "not opened: not opened; not opened",
        "passes: passes; LIVES",
    ], done.stderr
