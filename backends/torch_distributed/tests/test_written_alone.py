"""What one rank alone writes is named with its line: parameters, and the state of an optimizer.  Clause: G-101."""

import pytest

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

SCRIPT = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
rows = torch.randn(12, 4, generator=torch.Generator().manual_seed(1)).chunk(size)[rank]


def made(seed):
    torch.manual_seed(seed)
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    return model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def train(model, optimizer):
    for step in range(2):
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()


def restore(model, optimizer):
    MODEL
    OPTIMIZER


model, optimizer = made(0)
train(model, optimizer)
saved = model.module.state_dict(), optimizer.state_dict()
model, optimizer = made(3)
restore(model, optimizer)
train(model, optimizer)
"""
MODEL = "model.module.load_state_dict(saved[0])"
OPTIMIZER = "optimizer.load_state_dict(saved[1])"
ALONE = "if rank == 0: {}"
CASES = {
    "all": (MODEL, OPTIMIZER, None),
    "model": (ALONE.format(MODEL), OPTIMIZER, "it sets 'weight (2)', with which the step begins there"),
    "written": (
        ALONE.format("torch.nn.init.ones_(model.module.weight)"),
        OPTIMIZER,
        "it sets 'weight (2)', with which the step begins there",
    ),
    "optimizer": (MODEL, ALONE.format(OPTIMIZER), "it gives an optimizer another state, as one that is loaded"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_one_rank_alone_loads_is_named_with_its_line(name, tmp_path):
    model, optimizer, found = CASES[name]
    text = SCRIPT.replace("MODEL", model).replace("OPTIMIZER", optimizer)
    (tmp_path / "loads.py").write_text(text, encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "loads.py"), replicas=(1, 3))
    if found is None:
        assert report.verdict == "agree", str(report)
        return
    line = 1 + next(number for number, one in enumerate(text.splitlines()) if "if rank == 0" in one)
    causes = [one.cause for one in report.findings]
    assert [one.law for one in report.findings] == ["state", "replicas"], str(report)
    assert all(f"replica 0 alone runs loads.py:{line}: {found}" in cause for cause in causes), causes
    assert {one.source for one in report.findings} == {f"loads.py:{line}"}
