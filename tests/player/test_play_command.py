"""`simstrategy play` and `run --html`: programs, recordings, and what is refused."""

import gzip
import json
import re
from base64 import b64decode

import pytest

pytest.importorskip("typer")

from typer.testing import CliRunner

from simstrategy.cli.app import app_for

PROGRAM = """
import numpy as np, simstrategy as ss

def program(strategy):
    def step():
        return ss.get_replica_context().all_reduce("SUM", np.float32(1))
    return strategy.run(step)

def fails(strategy):
    strategy.run(lambda: 1 / 0)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in a folder with the program; returns its exit code and what it printed, in one line."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)

    def command(*words):
        result = CliRunner().invoke(app_for(words), [*words], env={"COLUMNS": "300"})
        return result.exit_code, " ".join(result.output.split())

    return command


def test_a_program_its_recording_and_its_run_make_the_same_page(run, tmp_path):
    code, output = run("play", "program.py", "--replicas", "3", "-o", "a.html")
    assert code == 0
    assert "a.html: 2 events" in output
    assert run("run", "program.py", "--replicas", "3", "--html", "b.html", "--record", "c.jsonl")[0] == 0
    assert run("play", "c.jsonl")[0] == 0
    pages = [(tmp_path / name).read_text().replace("c.jsonl", "program.py") for name in ("a.html", "b.html", "c.html")]
    assert pages[0] == pages[1] == pages[2]


def test_a_trace_without_values_is_played(run, tmp_path):
    assert run("run", "program.py", "--trace", "a.jsonl")[0] == 0
    assert run("play", "a.jsonl", "--output", "b.html")[0] == 0
    assert (tmp_path / "b.html").read_text().startswith("<!DOCTYPE html>")


def test_a_program_that_raises_has_a_page_to_its_end(run, tmp_path):
    code, output = run("play", "program.py", "--function", "fails")
    assert code == 1
    assert "The program raised: the page ends there." in output
    assert (tmp_path / "program.html").exists()


def test_what_cannot_be_played_is_refused_and_nothing_is_lost(run, tmp_path):
    run("run", "program.py", "--record", "a.jsonl")
    whole = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "newer.jsonl").write_text(whole.replace('"version":2', '"version":9'))
    (tmp_path / "damaged.jsonl").write_text(whole.replace('"shape":[]', '"shape":"no"'))
    (tmp_path / "text.txt").write_text("no recording\n")
    for words, text in (
        (("newer.jsonl",), "is a recording of version 9"),
        (("damaged.jsonl",), "damaged.jsonl:"),
        (("text.txt",), "text.txt:1 is not JSON"),
        (("missing.jsonl",), "missing.jsonl cannot be read: No such file"),
        (("a.jsonl", "-o", "a.jsonl"), "is the recording. Give the name of another file."),
        (("a.jsonl", "--replicas", "3"), "--replicas is for programs, and a.jsonl is a recording"),
        (("a.jsonl", "-o", "missing/a.html"), "there is no folder"),
        (("program.py", "-o", "program.py"), "is the program. Give the name of another file."),
        (("program.py", "-o", "missing/a.html"), "there is no folder"),
    ):
        code, output = run("play", *words)
        assert code == 2, words
        assert text in output
    assert (tmp_path / "a.jsonl").read_text() == whole
    assert (tmp_path / "program.py").read_text() == PROGRAM


def test_a_recording_that_is_cut_off_is_played_up_to_there(run, tmp_path):
    run("run", "program.py", "--record", "a.jsonl")
    (tmp_path / "a.jsonl").write_text((tmp_path / "a.jsonl").read_text()[:-30])
    assert run("play", "a.jsonl")[0] == 0


def test_one_page_has_a_run_for_each_value_that_varies(run, tmp_path):
    assert run("play", "program.py", "--vary", "replicas=1..3", "--vary", "order=ring,tree", "-o", "a.html")[0] == 0
    packed = re.search(r'id="recording">([^<]*)<', (tmp_path / "a.html").read_text())[1]
    runs = json.loads(gzip.decompress(b64decode(packed)))["runs"]
    orders = [f"replicas {count}, order {order}" for count in (1, 2, 3) for order in ("ring", "tree")]
    assert [one["name"] for one in runs] == orders
    first = [one["difference"] and one["difference"]["here"] for one in runs]
    assert first == [None, None, 1, 1, 1, 1]
    assert runs[2]["stops"][1][2].startswith("All 2 replicas have made all_reduce SUM")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("color=1", "a page varies replicas, workers, schedule, order"),
        ("replicas=0", "0 is no value of --replicas"),
        ("replicas=True", "True is no value of --replicas"),
        ("replicas=3..1", "3..1 names no value"),
        ("order=1", "1 is no value of --order"),
        ("replicas=1..100", "makes 100 runs, and a page has at most 64"),
    ],
)
def test_what_cannot_be_varied_is_refused(run, text, message):
    code, output = run("play", "program.py", "--vary", text)
    assert code == 2
    assert message in output


def test_two_options_with_one_file_are_refused_before_the_program_runs(run, tmp_path):
    code, output = run("run", "program.py", "--record", "a", "--html", "a")
    assert code == 2
    assert "--record and --html name one file" in output
    assert not (tmp_path / "a").exists()


def test_costs_are_drawn_and_exported(run, tmp_path):
    costs = "compute_s=0.5,slow=1:3,slow=2:2,algorithm=tree,overlap=False"
    assert run("play", "program.py", "--replicas", "3", "--cost", costs, "--perfetto", "a.json", "-o", "a.html")[0] == 0
    packed = re.search(r'id="recording">([^<]*)<', (tmp_path / "a.html").read_text())[1]
    times = json.loads(gzip.decompress(b64decode(packed)))["runs"][0]["times"]
    assert times["totals"][0] == ["replica 0", "500 ms", "1 s", "0 s"]
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    assert sum(one["dur"] for one in events if one["ph"] == "X" and one["cat"] == "wait") == 1.5e6
    assert run("run", "program.py", "--replicas", "3", "--record", "b.jsonl")[0] == 0
    assert run("play", "b.jsonl", "--cost", costs, "--perfetto", "b.json")[0] == 0
    assert (tmp_path / "b.json").read_text() == (tmp_path / "a.json").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cost", "color=1"), "'color=1' is none of compute_s=…"),
        (("--cost", "slow=2"), "has no factor: write slow=2:4"),
        (("--cost", "compute_s=-1"), "compute_s is a number of seconds, got -1"),
        (("--cost", "algorithm=star"), "no order of additions named 'star'"),
        (("--perfetto", "a.json"), "a recording has no times: declare costs as well"),
        (("--cost", "compute_s=1", "--perfetto", "program.html"), "name one file"),
    ],
)
def test_costs_that_cannot_be_applied_are_refused(run, words, message):
    for file in ("program.py", "a.jsonl"):
        run("run", "program.py", "--record", "a.jsonl")
        code, output = run("play", file, "-o", "program.html", *words)
        assert code == 2, output
        assert message in output


def test_a_recording_that_is_too_large_for_a_page_is_refused(run, tmp_path):
    with (tmp_path / "large.jsonl").open("wb") as stream:
        stream.truncate(1_000_000_000)
    code, output = run("play", "large.jsonl")
    assert code == 2
    assert "large.jsonl has 1000 MB, and a page shows a recording of at most 256 MB" in output


@pytest.mark.parametrize(
    "value", ['"first":"****"', '"low":"much"', '"shape":[-1]', '"dtype":"colour"', '"data":"AA=="']
)
def test_values_that_are_no_numbers_are_refused_with_their_line(run, tmp_path, value):
    run("run", "program.py", "--record", "a.jsonl")
    name = value.partition(":")[0]
    lines = (tmp_path / "a.jsonl").read_text().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith('{"value"'))
    whole = json.loads(lines[place])
    if name in ('"first"', '"low"'):
        whole = {"value": whole["value"], "dtype": "float32", "shape": [9], "digest": "a", "low": 0, "high": 1} | {
            "not_finite": 0,
            "first": "AAAAAA==",
        }
    lines[place] = json.dumps(whole | json.loads(f"{{{value}}}")) + "\n"
    (tmp_path / "b.jsonl").write_text("".join(lines))
    code, output = run("play", "b.jsonl")
    assert code == 2, output
    assert f"b.jsonl:{place + 1}" in output
