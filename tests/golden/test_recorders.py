"""The tools that ask real TensorFlow: what they draw, write down, compare and refuse. Not whether we agree."""

import ast
import importlib
import importlib.util
import json
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from golden_tools import TOOLS, tools_named

from golden_replay import read_cases

HERE = Path(__file__).parent
NAMES = ("arrays", "chance", "conversions", "environments", "probes", "processor", "record")
DRAWN = {"conversions": "conversions.jsonl", "probes": "probes.jsonl", "processor": "evidence/processor.jsonl"}
INSIDE = (
    *("arrays", "ask", "inputs", "kinds", "releases"),
    *("estimators", "estimator_graphs", "estimator_rows"),
)
"""What runs inside TensorFlow's own Python, 3.7 for its releases 1.x."""

ANSWERED = {"value": {"dtype": "float32", "shape": [], "data": [3.0]}}
OTHER = {"value": {"dtype": "float32", "shape": [], "data": [4.0]}}


@pytest.fixture(scope="module")
def tools():
    """The tools, imported as their own folder's scripts are, and then out of everybody's way."""
    return tools_named(NAMES)


@pytest.mark.parametrize("name", INSIDE)
def test_what_runs_inside_old_tensorflow_is_written_in_its_pythons_syntax(name):
    tree = ast.parse((TOOLS / f"{name}.py").read_text(encoding="utf-8"), feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert not imported & {"tomllib", "zoneinfo", "graphlib"}
    called = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not called & {"removeprefix", "removesuffix", "prod", "is_relative_to"}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    assert "strict" not in keywords


# What is drawn.


@pytest.mark.parametrize(("name", "count"), [("conversions", 555), ("probes", 200), ("processor", 50)])
def test_what_is_recorded_is_what_is_drawn_today_on_any_machine(tools, name, count):
    tool = getattr(tools, name)
    recorded = [json.loads(line) for line in (HERE / DRAWN[name]).read_text(encoding="utf-8").splitlines()]
    assert tool.draw() == tool.draw() == [line["case"] for line in recorded]
    assert len(read_cases(HERE / DRAWN[name])) == len(recorded) == count
    assert [tuple(line["answers"]) for line in recorded] == [tool.releases_of(line["case"]) for line in recorded]


def test_the_probes_can_be_read_and_hold_what_exact_sums_say_nothing_of():
    cases = read_cases(HERE / "probes.jsonl")
    arrays = [one for case in cases if case.kind == "reduce" for one in case.body["values"]]
    assert {case.kind for case in cases} == {"reduce", "all_reduce", "variable"}
    assert {array.dtype.name for array in arrays} >= {"float16", "float32", "float64", "complex64", "complex128"}
    assert {array.dtype.name for array in arrays} >= {"int16", "uint16", "uint32", "uint64"}
    assert {case.body["replicas"] for case in cases} >= {1, 2, 3, 5, 6, 7, 8}
    assert any(array.size == 0 for array in arrays)
    assert any(np.isnan(array).any() for array in arrays if array.dtype.kind == "f")
    assert any((array != np.round(array * 8) / 8).any() for array in arrays if array.dtype == np.float64 and array.size)
    assert any(np.signbit(array[array == 0]).any() for array in arrays if array.dtype.kind == "f")


def test_no_probe_adds_more_than_three_elements_of_one_replica():
    for case in read_cases(HERE / "probes.jsonl"):
        if case.kind == "reduce" and case.body["axis"] is not None:
            axes = case.body["axis"] if isinstance(case.body["axis"], list) else [case.body["axis"]]
            for array in case.body["values"]:
                assert math.prod(array.shape[axis] for axis in axes) <= 3, case.id


def test_what_is_left_to_the_processor_holds_what_the_probes_leave_out():
    cases = {case.id.partition("-")[0]: case for case in read_cases(HERE / DRAWN["processor"])}
    assert set(cases) == {"vectors", "subnormal", "quotients", "infinite"}
    assert cases["vectors"].body["values"][0].shape.count(50) == 1
    # By their bits: whoever takes subnormal numbers for zero would not see them.
    least = cases["subnormal"].body["values"]
    assert any(0 < bits & 0x7FFFFFFF < 0x00800000 for one in least for bits in one.view("uint32").tolist())


# What is written down.


@pytest.mark.parametrize(
    "array",
    [
        np.array([0.1, 65504, 2.0**-24, math.nan, math.inf, -math.inf, -0.0], "float16"),
        np.array([0.1, 3.4028235e38, 2.0**-149, math.nan, math.inf, -math.inf, -0.0], "float32"),
        np.array([0.1, 1 / 3, 1.7976931348623157e308, math.ldexp(1, -1074), math.nan, -0.0], "float64"),
        np.array([complex(0.1, -0.0), complex(math.inf, math.nan)], "complex64"),
        np.array([[complex(1 / 3, 2.0**-1022)]], "complex128"),
        np.array([2**64 - 1, 0], "uint64"),
        np.array([[-(2**63)], [2**63 - 1]], "int64"),
        np.array([True, False]),
        np.zeros((0, 3), "int16"),
        np.array(7, "uint8"),
    ],
    ids=lambda array: f"{array.dtype}-{array.ndim}",
)
def test_an_array_is_written_down_to_the_bit(tools, tmp_path, array):
    written = json.loads(json.dumps(tools.arrays.encoded(array), allow_nan=False))
    again = tools.arrays.decoded(written)
    assert (again.dtype, again.shape, again.tobytes()) == (array.dtype, array.shape, array.tobytes())
    body = {"id": "a", "kind": "reduce", "replicas": 1, "op": "SUM", "axis": None, "values": [written]}
    file = tmp_path / "cases.jsonl"
    file.write_text(json.dumps({"case": body, "answers": {"2.21.0": {"value": written}}}))
    assert read_cases(file)[0].body["values"][0].tobytes() == array.tobytes()


def test_an_error_is_written_down_without_what_differs_from_run_to_run(tools):
    text = (
        'in user code:\n\n    File "somewhere/reduce.py", line 7, in reduce\n    <tf.Tensor: id=12, shape=()> at 0x7f1a'
    )
    assert tools.arrays.error(ValueError(text)) == {
        "error": "ValueError",
        "message": "in user code: <tf.Tensor: shape=()> at 0x…",
    }
    assert len(tools.arrays.error(ValueError("x" * 999))["message"]) == 200


# What is compared.


@pytest.mark.parametrize(
    ("recorded", "given"),
    [
        ({"value": {"data": [1]}}, {"value": {"data": [1.0]}}),
        ({"value": {"data": [0.0]}}, {"value": {"data": [-0.0]}}),
        ({"value": {"data": [True]}}, {"value": {"data": [1]}}),
        ({"value": {"data": [1.0]}}, {"value": {"data": [1.0, 1.0]}}),
        ({"value": {"dtype": "float32"}}, {"value": {"dtype": "float64"}}),
        ({"steps": [[1], []]}, {"steps": [[1]]}),
        ({"steps": []}, {"error": "ValueError", "message": "no"}),
        ({"error": "ValueError", "message": "no"}, {"error": "TypeError", "message": "no"}),
        ({"error": "ValueError", "message": "no 1"}, {"error": "ValueError", "message": "no 2"}),
        ({"error": "ValueError", "message": "no"}, {"error": "ValueError", "message": "no more"}),
    ],
)
def test_answers_that_differ_are_told_apart(tools, recorded, given):
    assert tools.arrays.difference(recorded, given)
    assert tools.arrays.difference(recorded, recorded) is None


def test_a_difference_is_told_with_its_place(tools):
    recorded, given = {"log": ["ok", {"data": [0.5]}]}, {"log": ["ok", {"data": [0.25]}]}
    assert tools.arrays.difference(recorded, given) == "answer.log[1].data[0]: 0.5 recorded, 0.25 given"


def test_a_message_that_was_cut_off_is_that_of_the_whole(tools):
    whole = "Could not find valid device. " + "kernels " * 40
    assert tools.arrays.same_text(whole[:200], whole)
    assert tools.arrays.same_text(whole[:160], whole[:200])
    assert not tools.arrays.same_text(whole[:150], whole)
    assert tools.arrays.same_text("goo.gle/debugonly\n  name", "goo.gle/debugproto name")


# Pythons.


@pytest.fixture
def bare(tools, monkeypatch, tmp_path):
    """A machine without any Python 3.7, and a folder of its own for environments."""
    for name, value in {"PATH": str(tmp_path), "PYENV_ROOT": str(tmp_path / "pyenv")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("PYTHON37", raising=False)
    monkeypatch.setattr(tools.environments, "FOLDER", tmp_path / "environments")
    return tmp_path


def script(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_without_a_python_3_7_it_is_said_and_nothing_fails(tools, bare, capsys):
    file = bare / "cases.jsonl"
    line = json.dumps(line_of(**{"1_15_5": ANSWERED}))
    file.write_text(line)
    assert tools.record.main([str(file)]) == 0
    said = capsys.readouterr().out
    assert "cases.jsonl: TensorFlow 1.15.5 was not asked: there is no Python 3.7, which TensorFlow 1.x needs." in said
    assert "name it in PYTHON37" in said
    assert said.endswith("The recorded answers stay as they are.\n")
    assert file.read_text() == line


def test_a_python_3_7_is_one_that_says_so(tools, bare, monkeypatch):
    broken = script(bare / "python3.7", "exit 127")
    good = script(bare / "pyenv" / "versions" / "3.7.16" / "bin" / "python3.7", "echo 3.7")
    assert tools.environments.python37() == good
    monkeypatch.setenv("PYTHON37", script(bare / "newer", "echo 3.11"))
    with pytest.raises(tools.environments.Missing, match=r"Tried: .*newer"):
        tools.environments.python37()
    monkeypatch.setenv("PYTHON37", str(bare / "absent"))
    with pytest.raises(tools.environments.Missing, match=r"Tried: .*absent"):
        tools.environments.python37()
    assert broken


def test_an_installation_that_fails_is_said_with_its_last_line(tools, bare, monkeypatch):
    text = '[ "$1" = -c ] && echo 3.7 && exit 0\necho downloading\necho no space left\nexit 1'
    monkeypatch.setenv("PYTHON37", script(bare / "python", text))
    with pytest.raises(tools.environments.Missing, match=r"1\.13\.2 could not be installed: .*no space left"):
        tools.environments.python_for("1.13.2")


# Recording.


@pytest.fixture
def recording(tools, monkeypatch, tmp_path):
    """Calls the recorder on lines, with a TensorFlow that answers from a table, or is missing; returns all there is."""

    def call(lines, answers, *options, name="cases.jsonl"):
        def ask(release, cases):
            if release not in answers:
                raise tools.record.Missing("it is not here.")
            return {case["id"]: answers[release] for case in cases}

        monkeypatch.setattr(tools.record, "ask", ask)
        file = tmp_path / name
        if lines is not None:
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        code = tools.record.main([*options, str(file)])
        return code, [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else None

    return call


def line_of(**answers):
    return {"case": {"id": "a", "kind": "reduce"}, "answers": {key.replace("_", "."): answers[key] for key in answers}}


def test_what_is_as_recorded_succeeds_and_what_differs_fails(recording, capsys):
    lines = [line_of(**{"1_15_5": ANSWERED, "2_21_0": ANSWERED})]
    assert recording(lines, {"1.15.5": ANSWERED, "2.21.0": ANSWERED}) == (0, lines)
    assert recording(lines, {"1.15.5": ANSWERED, "2.21.0": OTHER}) == (1, lines)
    told = capsys.readouterr().out
    assert "cases.jsonl: TensorFlow 2.21.0: 1 asked, 0 as recorded, 0 new" in told
    assert "reduce a: answer.value.data[0]: 3.0 recorded, 4.0 given" in told


def test_only_the_releases_that_are_named_are_asked(recording):
    lines = [line_of(**{"1_15_5": ANSWERED, "2_21_0": ANSWERED})]
    assert recording(lines, {"2.21.0": OTHER, "1.15.5": ANSWERED}, "--release", "1.15.5") == (0, lines)


def test_writing_changes_what_has_changed_and_nothing_else(recording):
    cut = {"error": "ValueError", "message": "x" * 160}
    lines = [line_of(**{"1_13_2": cut, "1_15_5": cut, "2_21_0": ANSWERED})]
    given = {"1.15.5": {**cut, "message": "x" * 200}, "2.21.0": OTHER}
    code, written = recording(lines, given, "--write")
    assert code == 0
    assert written == [line_of(**{"1_13_2": cut, "1_15_5": cut, "2_21_0": OTHER})]


def test_probes_are_drawn_anew_when_they_are_written(tools, recording):
    drawn = [case["id"] for case in tools.probes.draw()]
    code, written = recording(None, {"2.21.0": ANSWERED}, "--write", name="probes.jsonl")
    assert (code, [line["case"]["id"] for line in written]) == (0, drawn)
    assert {tuple(line["answers"]) for line in written} == {("2.21.0",)}
    # Answers to what is drawn again are kept where nobody is there to ask.
    assert recording(written, {}, "--write", name="probes.jsonl") == (0, written)


def test_a_case_without_any_answer_is_not_written(recording, capsys):
    assert recording(None, {"1.13.2": ANSWERED}, "--write", name="probes.jsonl") == (2, None)
    assert "probes.jsonl was not written: no release answered" in capsys.readouterr().err


def test_a_file_that_is_missing_is_told(tools, tmp_path, capsys):
    assert tools.record.main([str(tmp_path / "absent.jsonl")]) == 2
    assert "There is no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"case": {}}', '{"case": {"id": "b", "kind": "run"}, "answers": {}}']
)
def test_a_damaged_file_is_told_with_its_line_and_left_alone(tools, tmp_path, damage):
    file = tmp_path / "cases.jsonl"
    text = json.dumps(line_of(**{"2_21_0": ANSWERED})) + f"\n{damage}\n"
    file.write_text(text)
    with pytest.raises(SystemExit, match=r"cases\.jsonl:2: this is no case with its answers"):
        tools.record.main(["--write", str(file)])
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('echo \'{"id": "a", "release": "2.21.0", "answer": {}}\' > "$3"; echo Aborted >&2; exit 134', "at case b"),
        ("echo no such module >&2; exit 1", "exit code 1 at case a; it said: no such module"),
        ("exit 0", "exit code 0 at case a; it said: nothing"),
        (
            'for i in a b; do echo "{\\"id\\": \\"$i\\", \\"release\\": \\"2.19.0\\", \\"answer\\": {}}"; done > "$3"',
            "has TensorFlow 2.19.0, not 2.21.0",
        ),
    ],
)
def test_a_tensorflow_that_goes_down_is_told_with_the_case(tools, monkeypatch, tmp_path, capsys, text, told):
    fake = Path(script(tmp_path / "python", text))
    monkeypatch.setattr(tools.record, "python_for", lambda release: fake)
    file = tmp_path / "cases.jsonl"
    lines = [{"case": {"id": name, "kind": "run"}, "answers": {"2.21.0": ANSWERED}} for name in "ab"]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = file.read_text()
    assert tools.record.main(["--write", str(file)]) == 2
    assert told in capsys.readouterr().err
    assert file.read_text() == before


# TensorFlow itself.


def test_only_what_tensorflow_raises_is_an_answer(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    try:
        ask = importlib.import_module("ask")
    finally:
        for name in INSIDE:
            sys.modules.pop(name, None)

    class Refusing:
        def strategy(self, replicas):
            raise ValueError(f"{replicas} replicas are too many")

    told = ask.answer(Refusing(), {"kind": "reduce", "replicas": 9})
    assert told == {"error": "ValueError", "message": "9 replicas are too many"}
    with pytest.raises(KeyError, match="riddle"):
        ask.answer(Refusing(), {"kind": "riddle"})


@pytest.mark.slow
@pytest.mark.deep
def test_the_tensorflow_that_is_installed_still_answers_as_recorded(tools, tmp_path):
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("TensorFlow is not installed")
    chosen = {}
    for name in ("strategy.jsonl", "probes.jsonl", "conversions.jsonl"):
        for text in (HERE / name).read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            chosen.setdefault((name, line["case"]["kind"], "error" in line["answers"]["2.21.0"]), line)
    answers = tools.record.ask("2.21.0", [line["case"] for line in chosen.values()])
    for line in chosen.values():
        assert tools.arrays.difference(line["answers"]["2.21.0"], answers[line["case"]["id"]]) is None
    assert {kind for _, kind, _ in chosen} >= {
        "reduce",
        "all_reduce",
        "run",
        "variable",
        "split",
        "autoshard",
        "convert",
    }
