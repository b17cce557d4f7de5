"""Tests of torch.distributed with the marker `world_size`: their bodies run on simulated ranks.

Clauses: G-64, G-65.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sessions import run_pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        "not __import__('importlib').util.find_spec('simstrategy_torch_distributed')", reason="no torch"
    ),
]

CASES = """
import os
import helper
import pytest
import torch
import torch.distributed as dist

@pytest.fixture
def start():
    return 2.5

@pytest.fixture
def function():
    return lambda: 0

@pytest.mark.world_size(1, 2, 4)
def test_sum(start, request):
    ...

@pytest.mark.world_size(1, 2, 4)
@pytest.mark.parametrize("rows", [3])
def test_total(start, rows, tmp_path):
    dist.init_process_group("gloo")
    assert os.getpid() != os.getppid() and tmp_path.is_dir()
    x = torch.full((rows,), start) * helper.one()
    dist.all_reduce(x)
    assert x.sum().item() == start * rows * dist.get_world_size()

@pytest.mark.world_size(2)
def test_last_rank_fails():
    dist.init_process_group("gloo")
    print("printed by", dist.get_rank())
    x = torch.ones(2)
    dist.all_reduce(x)
    expected = 2.0 + dist.get_rank()
    assert x[0].item() == expected

@pytest.mark.world_size(3)
def test_disagree():
    dist.init_process_group("gloo")
    if dist.get_rank() == 1:
        dist.barrier()
    else:
        dist.all_reduce(torch.ones(3))

@pytest.mark.world_size(2)
def test_result_is_used_early():
    dist.init_process_group("gloo")
    x = torch.ones(2)
    work = dist.all_reduce(x, async_op=True)
    half = x / 2
    work.wait()

@pytest.mark.world_size(2)
def test_skipped():
    pytest.skip("no data")

@pytest.mark.world_size(2)
def test_returns():
    return 3

@pytest.mark.world_size(2)
def test_value_that_stays(function):
    ...

@pytest.mark.world_size(2)
def test_environment(monkeypatch_session):
    assert os.environ["OF_THE_TEST"] == "7"

@pytest.fixture
def monkeypatch_session(monkeypatch):
    monkeypatch.setenv("OF_THE_TEST", "7")
"""
PASSED = [*(f"test_total[{count}-3]" for count in ("1-rank", "2-ranks", "4-ranks")), "test_environment[2-ranks]"]
RED = {
    "test_last_rank_fails[2-ranks]": (
        "Rank 1 has failed, so the others cannot continue.",
        "rank 1: AssertionError(assert 2.0 == 3.0",
        "assert x[0].item() == expected",
        "printed by 1",
    ),
    "test_disagree[3-ranks]": (
        "Ranks make different collective calls here.",
        "rank 0: all_reduce SUM float32[3] at test_cases.py:",
        "rank 1: barrier at test_cases.py:",
    ),
    "test_result_is_used_early[2-ranks]": (
        "Results of asynchronous calls are used before they are there.",
        "rank 1: all_reduce SUM float32[2] at test_cases.py:",
    ),
    "test_returns[2-ranks]": ("The test returned 3: a test returns nothing.",),
    "test_value_that_stays[2-ranks]": ("The value of 'function' cannot be sent to simulated ranks:",),
    "test_sum[1-rank]": ("The value of 'request' cannot be sent",),
    "test_sum[2-ranks]": ("Pass numbers, texts, arrays and other plain values",),
    "test_sum[4-ranks]": ("make the rest inside of the test",),
}


@pytest.fixture(
    scope="module", params=[pytest.param((), marks=pytest.mark.deep, id="alone"), pytest.param(("-n", "2"), id="xdist")]
)
def ended(request, tmp_path_factory):
    """The session of all cases."""
    folder = tmp_path_factory.mktemp("ranks")
    (folder / "test_cases.py").write_text(CASES)
    (folder / "helper.py").write_text("def one():\n    return 1.0\n")
    return run_pytest(folder, *request.param)


def test_bodies_run_on_every_rank_with_values_of_fixtures_and_modules_beside_the_file(ended):
    assert set(PASSED) <= set(ended.passed), ended.output
    assert set(ended.failures) == set(RED), ended.output
    assert "1 skipped" in ended.output


def test_a_failure_names_the_rank_and_shows_the_assertion_and_no_line_of_the_plugin(ended):
    for name, parts in RED.items():
        for part in parts:
            assert part in ended.failures[name]
        assert "ranks.py" not in ended.failures[name]
        assert "hidden" not in ended.failures[name]
