"""The runner of array-api-tests: its exceptions are strict both ways, and it states what is missing."""

import importlib.util
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[2] / "ci" / "array_api" / "run.py"


@pytest.fixture(scope="module")
def runner():
    spec = importlib.util.spec_from_file_location("array_api_runner", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_failures_without_an_exception_and_exceptions_without_a_failure_are_found(runner):
    outcomes = {"a::one": "failed", "a::two": "passed", "a::three": "failed", "a::four": "skipped"}
    assert runner.judge(outcomes, {"a::one": "why", "a::th*": "why"}) == []
    assert runner.judge(outcomes, {"a::t*": "why", "a::gone": "why"}) == [
        "failed without an exception: a::one",
        "passed, and has an exception: a::two",
        "an exception for no test: a::gone",
    ]


def test_an_exception_needs_a_reason_and_is_listed_once(runner, tmp_path):
    file = tmp_path / "sim.toml"
    for text in ('reason = " "\ntests = ["a"]', 'reason = "why"\ntests = ["a", "a"]'):
        file.write_text(f"[[exception]]\n{text}\n")
        with pytest.raises(SystemExit, match="listed twice, or has no reason"):
            runner.read(file)


@pytest.mark.parametrize("backend", ["sim", "torch", "xla"])
def test_the_exceptions_of_a_backend_can_be_read(runner, backend):
    assert len(runner.read(FILE.parent / "exceptions" / f"{backend}.toml")) > 10


def test_without_the_suite_the_runner_states_how_to_get_it(runner, monkeypatch, capsys):
    monkeypatch.delenv(runner.SUITE, raising=False)
    with pytest.raises(SystemExit) as raised:
        runner.suite_at(None)
    assert "array-api-tests is missing: clone" in capsys.readouterr().err
    assert f"\nCANNOT_RUN = {raised.value.code}\n" in (FILE.parents[1] / "evidence.py").read_text(encoding="utf-8")
