"""Damaged files of cases and deviations are told with file and line; what is listed has to be so."""

import json
import sys

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from golden_replay import Outcome, read_cases, read_deviations, replay_all
from golden_replay.command import app
from simstrategy.errors import InvalidArgument
from simstrategy.strategy import Semantics


def array(*data, dtype="float32"):
    return {"dtype": dtype, "shape": [len(data)], "data": list(data)}


def reduce_case(answer=None, **changed):
    body = {"id": "a", "kind": "reduce", "replicas": 2, "op": "SUM", "axis": None, "values": [array(1), array(2)]}
    return {"case": {**body, **changed}, "answers": {"2.21.0": {"value": array(3)} if answer is None else answer}}


def variable_case(*program):
    body = {"id": "v", "kind": "variable", "replicas": 2, "sync": "AUTO", "agg": "SUM", "dtype": "float32"}
    case = {**body, "init": array(1), "program": list(program)}
    return {"case": case, "answers": {"2.21.0": {"class": "MirroredVariable", "log": [], "components": []}}}


def shard_case(answer=None, **changed):
    body = {"id": "s", "kind": "autoshard", "workers": 2, "replicas_per_worker": 1, "source": "range", "total": 3}
    case = {**body, "batch": 2, "drop_remainder": False, "policy": "AUTO", "repeat": 1, **changed}
    return {"case": case, "answers": {"2.21.0": {"streams": [[[0], [2]], [[1], []]]} if answer is None else answer}}


def run_case(returns):
    body = {"id": "r", "kind": "run", "replicas": 1, "returns": returns}
    return {"case": body, "answers": {"2.21.0": {"returns": {}}}}


@pytest.fixture
def written(tmp_path):
    def write(*lines):
        file = tmp_path / "cases.jsonl"
        file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
        return file

    return write


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"case": {"id": "b", "ki', "no JSON"),
        ('{"case": NaN, "answers": {}}', "NaN is no JSON"),
        ([], "not an object of `case` and `answers`"),
        ({"case": {}}, "not an object of `case` and `answers`"),
        ({"case": {"id": 1, "kind": "reduce"}, "answers": {"2.21.0": {}}}, "no id or no kind"),
        ({**reduce_case(id="b"), "answers": {}}, "no answers by release"),
        ({**reduce_case(id="b"), "answers": {"2.21.0": 3}}, "no answers by release"),
        (reduce_case({"values": []}, id="b"), "the answer of 2.21.0 is no answer of kind reduce"),
        (reduce_case({"error": "ValueError"}, id="b"), "an error is not an object of the texts"),
        (reduce_case(id="b", kind="reduse"), "kind 'reduse' is none of"),
        (reduce_case(), "id 'a' was at"),
        (reduce_case(id="b", replicas=0), "'replicas' cannot be 0"),
        (reduce_case(id="b", replicas=True), "'replicas' cannot be True"),
        (reduce_case(id="b", replicas=3), "not one array for each of 3 replicas"),
        (reduce_case(id="b", op="MAX"), "'op' cannot be 'MAX'"),
        (reduce_case(id="b", axis="0"), "'axis' cannot be '0'"),
        (reduce_case(id="b", values=[1, 2]), "not one array for each of 2 replicas"),
        (reduce_case(id="b", values=[{**array(1), "shape": [2]}, array(2)]), "an array of float32 and shape [2]"),
        (reduce_case(id="b", values=[{**array(1), "shape": [-1]}, array(2)]), "-1 is no size"),
        (reduce_case(id="b", values=[array(300, dtype="int8"), array(2)]), "an array of int8"),
        (reduce_case(id="b", values=[array(1.5, dtype="int32"), array(2)]), "1.5 is none of its numbers"),
        (reduce_case(id="b", values=[array("high"), array(2)]), "'high' is none of its numbers"),
        (reduce_case(id="b", values=[array(True), array(2)]), "True is none of its numbers"),
        (reduce_case(id="b", values=[array(1, dtype="complex64"), array(2)]), "an array of complex64"),
        (reduce_case(id="b", values=[array(1, dtype="float80"), array(2)]), "dtype 'float80'"),
        (reduce_case(id="b", values=[{"dtype": "int8", "shape": []}, array(2)]), "an array has ['dtype', 'shape']"),
        (
            {
                "case": {**reduce_case(id="b", kind="all_reduce")["case"], "structure": "single", "values": []},
                "answers": {"2.21.0": {"values": []}},
            },
            "0 leaves in structure 'single'",
        ),
        (variable_case("read"), "a step of the program cannot be 'read'"),
        (variable_case({"where": "cross", "op": "reed"}), "'op' cannot be 'reed'"),
        (variable_case({"where": "cross", "op": "assign"}), "not one array for each"),
        (variable_case({"where": "cross", "op": "assign", "value": [array(1), array(2)]}), "not one array for each"),
        (shard_case(workers=0), "'workers' cannot be 0"),
        (shard_case(replicas_per_worker=-1), "'replicas_per_worker' cannot be -1"),
        (shard_case(policy="HINT"), "'policy' cannot be 'HINT'"),
        (shard_case(source="files"), "the case has no 'files'"),
        (shard_case(source="files", files=[1, -1]), "'files' cannot be [1, -1]"),
        (shard_case(source="files", files="many"), "'files' cannot be 'many'"),
        (shard_case(total=None), "'total' cannot be None"),
        (shard_case({"streams": [[[0]]]}), "not one stream for each of 2 workers"),
        (shard_case({"streams": 3}), "not one stream for each of 2 workers"),
        (run_case("pyid"), "cannot return 'pyid'"),
        (run_case({"t": "set", "c": []}), "cannot return {'t': 'set'"),
        (run_case({"t": "list", "c": ["rid", {"t": "dict", "c": []}]}), "cannot return {'t': 'dict'"),
    ],
)
def test_damage_is_told_with_file_and_line(written, line, text):
    file = written(reduce_case(), "", line)
    with pytest.raises(InvalidArgument) as raised:
        read_cases(file)
    assert str(raised.value).startswith(f"{file}:3: ")
    assert text in str(raised.value)


def test_a_file_that_is_missing_empty_or_no_text_is_told(tmp_path, written):
    with pytest.raises(InvalidArgument, match="There is no file"):
        read_cases(tmp_path / "missing.jsonl")
    with pytest.raises(InvalidArgument, match=r"cases.jsonl:1: there is no case"):
        read_cases(written(""))
    file = written(reduce_case())
    file.write_bytes(file.read_bytes() + b"\xff\xfe\n")
    with pytest.raises(InvalidArgument, match=r"cases.jsonl:2: no JSON"):
        read_cases(file)


ENTRY = '[[TF2]]\nclause = "R-1"\nreason = "wrong"\nanswer = "three"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[TF2]", "no TOML"),
        (ENTRY.replace("TF2", "TF3"), "TF3 is no profile; there are TF1_13, TF1_15, TF2"),
        ("TF2 = 3", "TF2 is no list of tables"),
        (ENTRY + 'as_in = "1.15.5"', "entry 1 of TF2: `ids` is no list"),
        (ENTRY + 'as_in = "1.15.5"\nids = []', "`ids` is no list"),
        (ENTRY + 'ids = ["a"]', "exactly one of `as_in`, `error` and `expected`"),
        (ENTRY + 'as_in = "1.15.5"\nerror = "InvalidArgument"\nids = ["a"]', "exactly one of"),
        (ENTRY + 'error = "ValueError"\nids = ["a"]', "'ValueError' is no error of simstrategy"),
        (ENTRY + 'error = "InvalidArgument"\nids = ["a", "a"]', "id a is listed twice"),
        (ENTRY + 'error = "InvalidArgument"\nids = ["a"]\nif = "x"', "unknown fields ['if']"),
        (ENTRY + 'ids = ["a"]\nexpected = { a = 1 }', "`expected` is a table of answers by case id"),
        (ENTRY + "expected = 3", "`expected` is a table of answers by case id"),
        (ENTRY + "expected = {}", "`ids` is no list of case ids"),
        (ENTRY + 'as_in = "1.15.5"\nexpected = { a = 1 }', "exactly one of"),
        ('[[TF2]]\nclause = "R-1"\nerror = "InvalidArgument"\nids = ["a"]', "`reason` is missing"),
    ],
)
def test_a_wrong_list_of_deviations_is_told(tmp_path, text, told):
    file = tmp_path / "deviations.toml"
    file.write_text(text)
    with pytest.raises(InvalidArgument) as raised:
        read_deviations(file, "TF2")
    assert told in str(raised.value)


def examine(tmp_path, written, case, entry):
    listed = {}
    if entry:
        (tmp_path / "deviations.toml").write_text(f'{ENTRY}{entry}\nids = ["a"]')
        listed = read_deviations(tmp_path / "deviations.toml", "TF2")
    return replay_all(read_cases(written(case)), "sim", Semantics.TF2, listed).findings[0]


FOUR = {"value": array(4)}


def both(old, new):
    return {**reduce_case(), "answers": {"1.15.5": old, "2.21.0": new}}


@pytest.mark.parametrize(
    ("case", "entry", "outcome", "text"),
    [
        (reduce_case(), "", Outcome.AGREES, ""),
        (reduce_case(FOUR), "", Outcome.DIFFERS, "float32[1] [3.0], recorded float32[1] [4.0]"),
        (both({"value": array(3)}, FOUR), 'as_in = "1.15.5"', Outcome.DEVIATES, "R-1: wrong"),
        (both(FOUR, FOUR), 'as_in = "1.15.5"', Outcome.DIFFERS, "deviates otherwise than listed (three)"),
        (both(FOUR, {"value": array(3)}), 'as_in = "1.15.5"', Outcome.DIFFERS, "strike it from the list"),
        (reduce_case(FOUR), 'as_in = "1.15.5"', Outcome.DIFFERS, "which has no answer here"),
        (reduce_case(FOUR), 'error = "InvalidArgument"', Outcome.DIFFERS, "is listed to raise InvalidArgument"),
        (reduce_case(axis=3), 'error = "InvalidArgument"', Outcome.DEVIATES, "R-1: wrong"),
        (reduce_case(axis=3), 'error = "InvalidType"', Outcome.DIFFERS, "is listed to raise InvalidType"),
    ],
)
def test_a_listed_deviation_has_to_be_one_and_the_one_it_says(tmp_path, written, case, entry, outcome, text):
    finding = examine(tmp_path, written, case, entry)
    assert finding.outcome is outcome
    assert text in finding.text


def test_an_answer_that_is_spelled_out_is_compared_like_any_other(tmp_path, written):
    recorded = shard_case({"streams": [[[0]], [[1]]]})
    for spelled, outcome in (
        ("[[0], [2]], [[1], []]", Outcome.DEVIATES),
        ("[[0], [2]], [[1], [7]]", Outcome.DIFFERS),
    ):
        (tmp_path / "deviations.toml").write_text(f"{ENTRY}expected = {{ s = {{ streams = [{spelled}] }} }}")
        listed = read_deviations(tmp_path / "deviations.toml", "TF2")
        (finding,) = replay_all(read_cases(written(recorded)), "sim", Semantics.TF2, listed).findings
        assert finding.outcome is outcome


def test_streams_are_padded_to_whole_steps_of_the_longest(written):
    streams = [[[0], [2], [4]], [[1], [3]]]
    (case,) = read_cases(written(shard_case({"streams": streams}, replicas_per_worker=2)))
    assert case.answers["2.21.0"] == {"streams": [[[0], [2], [4], []], [[1], [3], [], []]]}


def test_what_a_release_could_not_be_asked_has_no_answer_of_it(written):
    case = shard_case()
    case["answers"]["1.15.5"] = {"error": "RuntimeError", "message": "unsupported in 1.15"}
    (read,) = read_cases(written(case))
    assert {*read.answers} == {"2.21.0"}


BACKENDS = """
from dataclasses import replace
from simstrategy.device.wrapper import Wrapper
from simstrategy.sim import open_sim

def narrow(*, replicas):
    backend = Wrapper(open_sim(replicas=replicas))
    backend.capabilities = replace(backend.capabilities, dtypes=frozenset({"int32", "float32"}))
    return backend

class OneMore(Wrapper):
    def reduce(self, arrays, op, *, root):
        return self.xp.add(self._inner.reduce(arrays, op, root=root), 1)

class Stub(Wrapper):
    def reduce(self, arrays, op, *, root):
        raise NotImplementedError("later")

class Unusable(Wrapper):
    def on(self, device):
        raise ValueError("no memory")

def one_more(*, replicas): return OneMore(open_sim(replicas=replicas))
def stub(*, replicas): return Stub(open_sim(replicas=replicas))
def unusable(*, replicas): return Unusable(open_sim(replicas=replicas))
"""
INTEGERS = {"op": "MEAN", "values": [array(1, dtype="int32"), array(2, dtype="int32")]}
CLASH = {"error": "InvalidArgumentError", "message": "must have the same size and shape"}


@pytest.mark.parametrize(
    ("backend", "case", "outcome", "text"),
    [
        ("narrow", reduce_case(), Outcome.AGREES, ""),
        ("narrow", reduce_case(values=[array(1, dtype="float64")] * 2), Outcome.NOT_BUILT, "has no float64"),
        ("narrow", reduce_case(**INTEGERS), Outcome.NOT_BUILT, "The mean of int32 is float64"),
        ("narrow", reduce_case(CLASH, **INTEGERS), Outcome.NOT_BUILT, "The mean of int32 is float64"),
        ("one_more", reduce_case(), Outcome.DIFFERS, "float32[1] [4.0], recorded float32[1] [3.0]"),
        ("stub", reduce_case(), Outcome.DIFFERS, "NotImplementedError (later), recorded {'value'"),
        ("stub", reduce_case(CLASH), Outcome.DIFFERS, "which says that this is not implemented"),
        ("unusable", reduce_case(CLASH), Outcome.DIFFERS, "could not be asked: ValueError: no memory"),
    ],
)
def test_what_a_backend_lacks_is_no_agreement_and_what_it_does_wrong_differs(
    tmp_path, monkeypatch, written, backend, case, outcome, text
):
    name = f"{backend}_of_golden"
    (tmp_path / f"{name}.py").write_text(BACKENDS)
    monkeypatch.syspath_prepend(tmp_path)
    cases = read_cases(written(case))
    finding = replay_all(cases, f"{name}:{backend}", Semantics.TF2, {}).findings[0]
    del sys.modules[name]
    assert finding.outcome is outcome
    assert text in finding.text


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_the_command_prints_a_table_and_ends_with_0_where_nothing_differs(written):
    result = call(written(reduce_case()), "--semantics", "tf2")
    assert result.exit_code == 0
    assert "cases.jsonl: sim with TF2, against TensorFlow 2.21.0" in result.stdout
    assert " ".join(["kind", "cases", "agree", "deviations", "differ", "not", "built"]) in " ".join(
        result.stdout.split()
    )
    assert "reduce 1 1 0 0 0" in " ".join(result.stdout.split())
    assert "No answer differs." in result.stdout


def test_the_command_lists_the_first_differences_and_ends_with_1(written):
    file = written(*(reduce_case(FOUR, id=f"c{number}") for number in range(3)))
    result = call(file, "--semantics", "TF2", "--first", "2")
    assert result.exit_code == 1
    assert "reduce c1: answer['value']: float32[1] [3.0], recorded float32[1] [4.0]" in result.stdout
    assert "reduce c2" not in result.stdout
    assert "… and 1 more" in result.stdout
    assert "Not all answers agree." in result.stdout


def test_the_command_ends_with_2_where_it_cannot_replay(tmp_path, written):
    file = written(reduce_case())
    for arguments, text in (
        ([tmp_path / "missing.jsonl"], "There is no file"),
        ([file], "TensorFlow 1.15.5, and the cases have answers of 2.21.0"),
        ([file, "--semantics", "TF2", "--backend", "simm"], "No backend named 'simm'"),
        ([file, "--semantics", "TF2", "--deviations", tmp_path / "missing.toml"], "There is no file"),
    ):
        result = call(*arguments)
        assert result.exit_code == 2
        assert text in " ".join(result.stderr.split())
