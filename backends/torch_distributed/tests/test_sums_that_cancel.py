"""What rounding leaves of a gradient whose terms cancel accuses nobody, whatever an optimizer makes of it.

Clause: G-27.
"""

import pytest
import torch

from simstrategy.check.scripts import check_script
from simstrategy.device.perturbed import LeftSums
from simstrategy_torch_distributed.checking.front import runner_of
from simstrategy_torch_distributed.watched.moving import Moves, nudge_sums

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

CONSTANTS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
labels = torch.arange(12)[torch.randperm(12, generator=torch.Generator().manual_seed(1))] % 3
rows = torch.randn(12, 4, generator=torch.Generator().manual_seed(3)).double()
model = torch.nn.Linear(4, 3).double()
torch.nn.init.zeros_(model.weight)
torch.nn.init.zeros_(model.bias)
model = DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
mine = slice(rank * 12 // size, (rank + 1) * 12 // size)
torch.nn.functional.multi_margin_loss(model(rows[mine]), labels[mine]).backward()
optimizer.step()
"""
"""The gradient of the bias has constant terms, which no rounding of inputs moves, and all of it is what is left."""

AMONG_RANKS = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
factors = torch.tensor([0.1, 0.7, 0.3, 0.9, 0.6, 0.2, -0.9, -0.3, -0.2, -0.7, -0.6, -0.1])
scale = torch.nn.Parameter(torch.ones(()))
optimizer = torch.optim.Adam([scale], lr=RATE)
for step in range(2):
    optimizer.zero_grad()
    (scale * factors[rank * 12 // size : (rank + 1) * 12 // size]).mean().backward()
    dist.all_reduce(scale.grad, dist.ReduceOp.AVG)
    optimizer.step()
"""
"""The only gradient of each step is what rounding leaves of constant terms that cancel among the ranks."""


def checked(folder, rate, script=SCRIPT):
    (folder / "signs.py").write_text(script.replace("RATE", rate), encoding="utf-8")
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


@pytest.mark.deep
def test_a_gradient_of_which_nothing_else_is_left_is_not_accused(tmp_path):
    report = checked(tmp_path, "0.01", CONSTANTS)
    assert report.verdict == "undecided", str(report)
    assert "after step 1['bias']: element [" in str(report)
    assert "Rounding alone may change these results" in str(report)
    report = checked(tmp_path, "0.01 * size", CONSTANTS)
    assert report.verdict == "differ", str(report)
    assert "the learning rate of step 1 is 0.03, and 0.01 in the reference" in report.findings[0].cause


def test_a_gradient_that_cancels_among_ranks_and_is_the_only_one_is_not_accused(tmp_path):
    report = checked(tmp_path, "0.01", AMONG_RANKS)
    assert report.verdict == "undecided", str(report)
    assert "Rounding alone may change these results" in str(report)


def test_gradients_move_beside_their_terms_where_these_are_known_and_true_ones_by_one_unit():
    gradients = [torch.tensor([1e-8]), torch.tensor([1e-7, 1e-9]), torch.tensor([1e-9])]
    moved = [one.clone() for one in gradients]
    moves = Moves(1, sums=LeftSums(("true",), ({}, {"left": 0.5, "true": 0.5})), narrow=None)
    for is_second in (False, True):
        moves.gradients([*zip(("left", "elsewhere", "true"), moved, strict=True)])
        gaps = [abs(one - other).max().item() for one, other in zip(moved, gradients, strict=True)]
        assert (gaps[0] > 5e-8) == is_second  # one unit of its terms, and its own size
        assert (gaps[1] > 5e-8) == is_second  # of the largest terms of all: all of it is as small beside these
        assert gaps[2] < 1e-15
        moved = [one.clone() for one in gradients]


def test_gradients_move_beside_the_largest_of_all_where_all_of_one_is_left():
    gradients = [torch.tensor([4.0, 1e-3]), torch.tensor([1e-8, -2e-8, 0.0]), torch.tensor([1e-5, 3e-13])]
    found = [[one.clone() for one in gradients] for _ in range(2)]
    for pattern, moved in enumerate(found, 1):
        nudge_sums(moved, pattern)
    unit = 2.0**-21
    for place, value in enumerate(gradients[1].tolist()):
        step = abs(value) + unit if value else 0.0
        both = sorted(moved[1][place].item() for moved in found)
        assert both == pytest.approx([value - step, value + step], rel=1e-6)
    for moved in found:  # the others stay, but for one unit in the last place, and what is left beside their own
        assert moved[0].tolist() == pytest.approx([4.0, 1e-3], rel=3e-7)
        assert moved[2][0].item() == pytest.approx(1e-5, rel=3e-7)
        assert abs(moved[2][1].item()) < 2e-12
