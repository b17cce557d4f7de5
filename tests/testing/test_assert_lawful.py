"""`ss.testing` without pytest's plugin: what is raised and with what text, what is drawn, and which command repeats."""

import functools
import importlib
import subprocess
import sys

import hypothesis
import numpy as np
import pytest

import simstrategy as ss
from simstrategy.check import Finding, Report, Row
from simstrategy.testing.lawful import _lines
from simstrategy.testing.repeating import check_command

FILE = """
import functools
def program(strategy): return 1
def other(strategy): return 1
def made():
    def program(strategy): return 1
    return program
nested = made()
@functools.wraps(other)
def wrapped(strategy): return other(strategy)
partial = functools.partial(other)
class Callable:
    def __call__(self, strategy): return 1
    def method(self, strategy): return 1
"""


def ones(strategy):
    return strategy.reduce("SUM", strategy.run(lambda: strategy.xp.ones(())), axis=None)


def exempted(strategy):
    return {"one": ones(strategy)}


def test_a_lawful_program_gives_its_report():
    report = ss.testing.assert_lawful(lambda strategy: ones(strategy) * 0, replicas=[1, 2])
    assert report.agrees
    assert {row.replicas for row in report.rows} == {"1", "2", "2 against 1"}


def test_the_default_numbers_of_replicas_are_those_of_check():
    with pytest.raises(ss.errors.Difference, match="replicas 4 against 1"):
        ss.testing.assert_lawful(ones)


@pytest.mark.parametrize(
    ("program", "settings", "kind", "headline"),
    [
        (
            ones,
            {},
            ss.errors.Difference,
            "breaks the law of replicas (sim, replicas 2 against 1): result: 2.0 against 1.0",
        ),
        (
            ones,
            {"without": ["replicas"]},
            ss.errors.NotJudged,
            "could not be judged: see what was not tried or compared",
        ),
        (
            exempted,
            {"exempt": {"one": "all of it"}},
            ss.errors.NotJudged,
            "could not be judged: sim, replicas 2 against 1, InOrder(): nothing was compared",
        ),
    ],
)
def test_what_is_raised_begins_with_what_is_wrong_and_has_the_report(program, settings, kind, headline):
    with pytest.raises(kind) as raised:
        ss.testing.assert_lawful(program, replicas=[1, 2], **settings)
    lines = str(raised.value).splitlines()
    assert headline in lines[0]
    assert lines[2] == "check of test_assert_lawful.py"
    assert isinstance(raised.value, AssertionError)


def test_settings_that_cannot_be_are_the_errors_of_check():
    with pytest.raises(ss.errors.InvalidArgument, match="replicas is empty"):
        ss.testing.assert_lawful(ones, replicas=[])
    with pytest.raises(TypeError, match="replica_counts"):
        ss.testing.assert_lawful(ones, replica_counts=[1])


def test_the_cause_is_in_the_text_and_the_command_is_its_end():
    row = Row("sim", "3 against 1", "InOrder()", False, False, 1.0, 0.0, 0, False, "w differs", law="replicas")
    finding = Finding("replicas", "sim", "3 against 1", "InOrder()", "w differs", cause="The mean of means.")
    lines = [*_lines(Report("train.py", [row._replace(finding=finding)]), "simstrategy check x")]
    assert lines[0] == "train.py breaks the law of replicas (sim, replicas 3 against 1): w differs"
    assert "Cause: The mean of means." in lines[2]
    assert lines[-1] == "Repeat this check with: simstrategy check x"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Imports a file of programs from the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "programs_of_mine.py").write_text(FILE)
    yield importlib.import_module("programs_of_mine")
    sys.modules.pop("programs_of_mine")


def test_a_command_repeats_a_check_of_a_function_of_a_file(module):
    assert check_command(module.program, {"replicas": [1, 3]}) == "simstrategy check programs_of_mine.py --replicas 1,3"
    settings = {
        "replicas": (2, 4),
        "backends": ["sim", "torch"],
        "workers": [1, 2],
        "laws": ["all"],
        "without": ["replicas"],
        "require": ["uneven", "empty"],
        "schedules": [ss.schedules.InOrder, lambda: ss.schedules.Seeded(-5), ss.schedules.Every(9)],
        "vary": {"accumulate": [1, 2]},
        "exempt": {"a/b": "it's drawn"},
        "semantics": ss.Semantics.TF2,
        "timeout_s": 30.0,
        "allow_errors": True,
        "on_row": print,
    }
    words = (
        "--replicas 2,4 --backends sim,torch --workers 1,2 --laws all --not replicas --require uneven,empty "
        "--schedules in-order,seeded:-5,all:9 --vary accumulate=1,2 "
        "--exempt 'a/b=it'\"'\"'s drawn' --semantics TF2 --timeout 30 --allow-errors"
    )
    assert check_command(module.other, settings) == f"simstrategy check programs_of_mine.py --function other {words}"


@pytest.mark.parametrize("name", ["nested", "wrapped", "partial", "Callable"])
def test_what_cannot_be_loaded_from_its_file_has_no_command(module, name):
    found = getattr(module, name)
    assert check_command(found, {}) is None
    assert check_command(module.Callable().method, {}) is None
    assert check_command(functools.partial(module.program), {}) is None
    assert check_command(lambda strategy: 1, {}) is None


def test_what_no_option_stands_for_has_no_command(module):
    assert check_command(module.program, {"new_setting": [1]}) is None
    assert check_command(module.program, {"vary": {"accumulate": ["a,b"]}}) is None
    assert check_command(module.program, {"schedules": [lambda: ss.schedules.Recorded(ss.schedules.InOrder())]}) is None


def test_a_command_is_for_the_folder_in_which_it_is_run(module, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    assert check_command(module.program, {}) == f"simstrategy check {tmp_path.relative_to('/')}/programs_of_mine.py"


@hypothesis.settings(max_examples=30, deadline=None, derandomize=True, database=None)
@hypothesis.given(ss.testing.batches(rows=5, features=2), ss.testing.replica_counts(6))
def test_what_is_drawn_has_the_form_that_is_stated(batch, count):
    assert batch.dtype == np.float32
    assert batch.shape[1:] == (2,)
    assert 1 <= len(batch) <= 5
    assert np.array_equal(batch * 8, np.round(batch * 8))
    assert np.abs(batch).max() <= 8
    assert 2 <= count <= 6


def test_examples_shrink_to_the_least():
    quick = hypothesis.settings(database=None, derandomize=True)
    batch = hypothesis.find(ss.testing.batches(rows=9, features=1), lambda one: one.sum() > 2, settings=quick)
    assert batch.tolist() == [[2.125]]
    assert hypothesis.find(ss.testing.replica_counts(8, least=1), lambda _: True, settings=quick) == 1
    empty = hypothesis.find(ss.testing.batches(rows=2, features=1, least=0), lambda _: True, settings=quick)
    assert empty.shape == (0, 1)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ss.testing.batches(rows=0), "rows is a whole number of at least 1, got 0"),
        (lambda: ss.testing.batches(features=1.5), "features is a whole number of at least 1, got 1.5"),
        (lambda: ss.testing.batches(rows=2, least=3), "rows is a whole number of at least 3, got 2"),
        (lambda: ss.testing.replica_counts(1), "most is a whole number of at least 2, got 1"),
        (lambda: ss.testing.replica_counts(True, least=1), "most is a whole number of at least 1, got True"),
        (lambda: ss.testing.replica_counts(4, least=0), "least is a whole number of at least 1, got 0"),
    ],
)
def test_counts_that_cannot_be_are_refused(call, text):
    with pytest.raises(ss.errors.InvalidArgument, match=text):
        call()


def test_without_hypothesis_the_error_names_the_command(monkeypatch):
    real = importlib.import_module

    def fail(name, *arguments):
        if name.startswith("hypothesis"):
            raise ModuleNotFoundError("No module named 'hypothesis'", name="hypothesis")
        return real(name, *arguments)

    monkeypatch.setattr("simstrategy.testing.drawing.importlib.import_module", fail)
    with pytest.raises(ss.errors.Unsupported, match="Run: pip install hypothesis"):
        ss.testing.replica_counts(2)


@pytest.mark.slow
def test_the_core_imports_without_hypothesis_and_pytest():
    script = (
        "import sys; sys.modules.update(hypothesis=None, pytest=None); import simstrategy; simstrategy.testing.World"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
