"""Parameters of which rounding alone decides elements: the bias of attention's keys, and a bias before a normalisation.

Clauses: G-120, G-121.
"""

import pytest

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

SCRIPT = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.before = nn.Linear(8, 6)
        self.last = nn.Linear(6, 3)
        self.small = nn.Parameter(torch.zeros(8))

    def forward(self, rows):
        found = rows + self.attention(rows, rows, rows)[0] + 1e-8 * self.small
        found = self.before(found.mean(1))
        found = (found - found.mean(1, keepdim=True)) / found.std(1, keepdim=True)
        return self.last(found)


model = Model()
with torch.no_grad():
    model.attention.in_proj_bias += 0.1 * torch.randn(24)
SETUP
model = DistributedDataParallel(model)
rows = torch.randn(32, 5, 8, generator=torch.Generator().manual_seed(2))
labels = torch.arange(32) % 3
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, eps=1e-12)
for step in range(4):
    mine = torch.arange(8 * step + rank, 8 * step + 8, size)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(rows[mine]), labels[mine]).backward()
    BEFORE
    optimizer.step()
"""


def checked(folder, setup="", before="pass"):
    (folder / "keys.py").write_text(SCRIPT.replace("SETUP", setup).replace("BEFORE", before), encoding="utf-8")
    return check_script(runner_of, str(folder / "keys.py"), replicas=(1, 2))


def test_the_bias_of_keys_is_named_and_all_others_are_judged(tmp_path):
    report = checked(tmp_path)
    assert report.verdict == "agree", str(report)
    left = [text for text in str(report).splitlines() if text.startswith("Not compared")]
    assert left == [
        (
            "Not compared: after steps 1 to 4['attention.in_proj_bias']: 8 of 24 elements are not: their gradients are "
            "what rounding leaves where terms cancel"
        )
    ]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("model.module.attention.in_proj_bias.grad[:8] += 0.01 * (size - 1)", id="queries"),
        pytest.param("model.module.attention.in_proj_bias.data[16:] += 0.001 * (size - 1)", id="values"),
    ],
)
def test_a_fault_of_the_other_elements_is_found(tmp_path, before):
    report = checked(tmp_path, before=before)
    assert report.verdict == "differ", str(report)


def test_a_gradient_that_is_truly_small_is_not_taken_for_what_rounding_leaves(tmp_path):
    report = checked(tmp_path, before="model.module.small.grad *= (-1) ** (size - 1)")
    assert report.verdict == "differ", str(report)
    assert report.findings[0].variable == "small"
    assert "rounding of the inputs moves it by 2;" not in str(report)


def test_another_first_value_of_the_bias_of_keys_is_found(tmp_path):
    report = checked(tmp_path, setup="    model.attention.in_proj_bias[8:16] += 0.01 * size")
    assert report.verdict == "differ", str(report)
    assert "before the first step" in str(report)


def test_a_vector_whose_parts_functional_call_puts_into_a_module_is_moved_and_judged(tmp_path):
    script = """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
model = torch.nn.MultiheadAttention(8, 2, batch_first=True)
shapes = [(name, one.shape, one.numel()) for name, one in model.named_parameters()]
vector = torch.nn.Parameter(torch.nn.utils.parameters_to_vector(model.parameters()).detach().clone())
optimizer = torch.optim.AdamW([vector], lr=0.01)
rows = torch.randn(32, 5, 8, generator=torch.Generator().manual_seed(2))
for step in range(4):
    mine = rows[torch.arange(8 * step + rank, 8 * step + 8, size)]
    pieces = zip(shapes, vector.split([count for _, _, count in shapes]))
    parts = {name: part.view(shape) for (name, shape, _), part in pieces}
    optimizer.zero_grad()
    (torch.func.functional_call(model, parts, (mine, mine, mine))[0] - mine).pow(2).mean().backward()
    dist.all_reduce(vector.grad)
    vector.grad /= DIVISOR
    optimizer.step()
"""
    for rule, divisor, verdict in (("AdamW", "size", "agree"), ("SGD", "1", "differ")):
        text = script.replace("DIVISOR", divisor).replace("AdamW", rule)
        (tmp_path / "flat.py").write_text(text, encoding="utf-8")
        report = check_script(runner_of, str(tmp_path / "flat.py"), replicas=(1, 2))
        assert report.verdict == verdict, str(report)
        assert report.rows[0].one_ulp > 0
