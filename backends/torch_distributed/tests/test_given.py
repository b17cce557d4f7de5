"""What modules are given by position, by name and in a dict: it is compared, moved and planted alike.

Clauses: G-27, G-39, G-72.
"""

import re

import pytest

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.given import leaves_in

TRAINED = """
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = torch.nn.Linear(4, 6), torch.nn.Linear(6, 1)

    def forward(self, x=None, factor=1.0, batch=None, name=None, mask=None):
        rows = x if batch is None else batch["x"]
        return self.last(torch.tanh(self.first(rows) * factor))

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
data = torch.randn(24, 4)
model = DistributedDataParallel(Model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for part in data[rank::size].split(int(sys.argv[1])):
    optimizer.zero_grad()
    model(GIVEN).square().mean().backward()
    optimizer.step()
"""
WAYS = {"position": "part", "name": "x=part, name='x', mask=None", "dict": "batch={'x': part, 'name': 'x'}"}


@pytest.fixture
def script(tmp_path):
    def written(given):
        file = tmp_path / "train.py"
        file.write_text(TRAINED.replace("GIVEN", given), encoding="utf-8")
        return str(file)

    return written


@pytest.mark.parametrize("way", [pytest.param("position", marks=pytest.mark.deep), "name", "dict"])
def test_ranks_with_a_batch_size_of_their_own_are_not_judged_however_the_batch_is_given(way, script):
    report = check_script(runner_of, script(WAYS[way]), arguments=["4"], replicas=(1, 2))
    assert report.verdict == "undecided", str(report)
    assert "the runs have other global batches" in str(report)


def test_inputs_by_name_move_as_those_by_position_do(script):
    """The measured effect of rounding is the same number."""
    moved = []
    for way in ("position", "name"):
        report = check_script(runner_of, script(WAYS[way]), arguments=["{12//replicas}"], replicas=(1, 2))
        assert report.verdict == "agree", str(report)
        moved += re.findall(r"rounding moves it by \S+", str(report))
    assert len(moved) == 2
    assert len({*moved}) == 1


def test_inf_is_planted_in_an_input_by_name(script):
    report = check_script(
        runner_of, script(WAYS["name"]), arguments=["12"], replicas=(2,), same_on=["faults"], faults=["input"]
    )
    assert report.verdict == "agree", str(report)
    assert "inf in one replica's argument, at each of 1 argument" in str(report)


def test_only_data_counts():
    batch = {"ids": 1, "texts": ["a"], "more": [2, (3, 4.0)], "is_left": True}
    assert list(leaves_in(batch)) == [1, 2, 3, 4.0]
    assert list(leaves_in((batch, None))) == [1, 2, (3, 4.0)]
