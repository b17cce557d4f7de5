"""What rounding leaves of a gradient whose terms cancel accuses nobody, whatever an optimizer makes of it.

Clause: G-27.
"""

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
order = torch.randperm(12, generator=torch.Generator().manual_seed(10))
weights = torch.tensor([0.1, -0.1, 0.2, -0.2, 0.3, -0.3, 0.7, -0.7, 0.6, -0.6, 0.9, -0.9]).double()[order]
rows = torch.randn(12, 4, generator=torch.Generator().manual_seed(3)).double()
torch.manual_seed(1)
model = DistributedDataParallel(torch.nn.Linear(4, 2).double())
optimizer = torch.optim.Rprop(model.parameters(), lr=RATE)
for step in range(2):
    optimizer.zero_grad()
    both = torch.stack([weights, weights.abs()], 1)
    (model(rows[rank::size]) * both[rank::size]).mean().backward()
    optimizer.step()
"""


def checked(folder, rate):
    (folder / "signs.py").write_text(SCRIPT.replace("RATE", rate), encoding="utf-8")
    return check_script(runner_of, str(folder / "signs.py"), replicas=(1, 3))


def test_an_optimizer_that_takes_the_sign_of_what_is_left_is_not_accused(tmp_path):
    report = checked(tmp_path, "0.01")
    assert report.verdict == "undecided", str(report)
    assert "after step 1['bias']: element [0]" in str(report)
    assert "Rounding alone may change these results" in str(report)


def test_a_rate_that_depends_on_the_ranks_is_found_beside_it(tmp_path):
    report = checked(tmp_path, "0.01 * size")
    assert report.verdict == "differ", str(report)
    assert "'weight'" in report.findings[0].cause
    assert "the learning rate of step 1 is 0.03, and 0.01 in the reference" in report.findings[0].cause
