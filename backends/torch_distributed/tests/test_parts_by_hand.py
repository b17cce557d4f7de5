"""Flat parameters that a script cuts by hand, and bfloat16 by hand.  Clauses: G-94, G-102"""

import pytest

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

SCRIPT = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = torch.nn.Linear(6, 1)
flat = torch.cat([one.detach().reshape(-1) for one in model.parameters()])
flat = torch.cat([flat, torch.zeros(-len(flat) % size)])
own = torch.nn.Parameter(CUT(flat).clone())
optimizer = torch.optim.SGD([own], lr=0.1, momentum=0.9)
rows = torch.randn(24, 6, generator=torch.Generator().manual_seed(1))
for step in range(2):
    parts = [torch.empty_like(own.data) for _ in range(size)]
    dist.all_gather(parts, own.data)
    whole, place = JOIN(parts), 0
    for one in model.parameters():
        one.data.copy_(whole[place : place + one.numel()].view_as(one))
        place += one.numel()
        one.grad = None
    model(rows[12 * step : 12 * step + 12].chunk(size)[rank]).square().mean().backward()
    gradient = torch.cat([one.grad.reshape(-1) for one in model.parameters()])
    gradient = torch.cat([gradient, torch.zeros(len(flat) - len(gradient))])
    dist.all_reduce(gradient)
    gradient /= DIVISOR
    own.grad = CUT(gradient).clone()
    optimizer.step()
"""
LINED_UP = ("(lambda one: one.chunk(size)[rank])", "torch.cat")
IN_TURN = ("(lambda one: one[rank::size])", "(lambda parts: torch.stack(parts, 1).reshape(-1))")


def checked(folder, ways, divisor):
    text = SCRIPT.replace("CUT", ways[0]).replace("JOIN", ways[1]).replace("DIVISOR", divisor)
    (folder / "parts.py").write_text(text, encoding="utf-8")
    return check_script(runner_of, str(folder / "parts.py"), replicas=(1, 2))


def test_parts_that_ranks_cut_by_hand_are_compared_whole(tmp_path):
    report = checked(tmp_path, LINED_UP, "size")
    assert report.verdict == "agree", str(report)
    assert "Of 'parameter 0' each replica holds a part: these parts, put together, are compared" in str(report)
    report = checked(tmp_path, LINED_UP, "1")
    (finding,) = report.findings
    assert finding.kind == "scaled by the number of replicas", str(report)
    assert finding.step == 1


def test_parts_that_are_not_recognised_are_not_judged_and_the_report_states_what_to_do(tmp_path):
    report = checked(tmp_path, IN_TURN, "size")
    assert report.verdict == "undecided", str(report)
    assert "NOT JUDGED: each replica has a value of its own" in str(report)
    assert "let 1 be the first number of replicas. Of others observe the whole" in str(report)


BY_HAND = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model, narrow = torch.nn.Linear(7, 1), torch.nn.Linear(7, 1).bfloat16()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
rows = torch.randn(24, 7, generator=torch.Generator().manual_seed(1))
for step in range(3):
    narrow.load_state_dict(model.state_dict())
    narrow.zero_grad()
    part = rows[8 * step : 8 * step + 8].chunk(size)[rank]
    narrow(part.bfloat16()).float().square().mean().backward()
    for one, other in zip(model.parameters(), narrow.parameters()):
        one.grad = other.grad.float()
        dist.all_reduce(one.grad)
        one.grad /= size
    optimizer.step()
"""


@pytest.mark.deep
def test_what_rounding_of_a_narrow_dtype_leaves_undecided_names_the_dtype(tmp_path):
    (tmp_path / "narrow.py").write_text(BY_HAND, encoding="utf-8")
    report = check_script(runner_of, str(tmp_path / "narrow.py"), replicas=(1, 2))
    assert report.verdict == "undecided", str(report)
    assert "The script computes in bfloat16" in str(report)
    (tmp_path / "narrow.py").write_text(BY_HAND.replace("one.grad /= size", "pass"), encoding="utf-8")
    (finding,) = check_script(runner_of, str(tmp_path / "narrow.py"), replicas=(1, 2)).findings
    assert finding.kind == "sum of means", finding.cause
