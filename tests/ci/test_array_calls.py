"""The table of calls of array functions: a share of it on every backend, and its exceptions are strict both ways.

The whole table: ci/run.py deep array_calls

# Clauses: B-18, B-21, B-22
"""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "ci" / "array_calls"
SHARES = {"torch": 7, "tensorflow": 13, "xla": 307}
"""Every so many calls are made; XLA compiles each."""


@pytest.fixture(scope="module")
def runner():
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("array_calls_runner", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(FOLDER))


@pytest.mark.slow
@pytest.mark.parametrize("backend", SHARES)
def test_a_share_of_the_table_is_as_on_the_simulator_or_listed(runner, backend):
    pytest.importorskip(f"simstrategy_{backend}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from table import calls

    made, found = runner.differences(backend, calls()[:: SHARES[backend]])
    assert made > 10
    assert runner.judge(backend, found, runner.entries(), is_whole=False) == []


def test_every_call_of_the_table_has_a_text_of_its_own_and_every_function_is_in_it(runner):
    from table import calls

    import simstrategy as ss

    texts = [call.text for call in calls()]
    assert len(texts) == len({*texts}) > 1468
    assert {call.name for call in calls()} == {*ss.device.NAMES}


def test_what_is_not_listed_and_what_is_listed_and_not_found_fail(runner):
    entry = runner.Entry("value", ("torch",), ("add *", "sum *"), "why")
    found = [("add float32", "value", "1", "2"), ("add int8", "dtype", "1", "2")]
    assert runner.judge("torch", found, [entry], is_whole=True) == [
        "dtype: xp.add int8",
        "    sim: 1",
        "    torch: 2",
        "listed and not found: value: sum *",
    ]
    assert len(runner.judge("xla", found[:1], [entry], is_whole=False)) == 3
