"""Scripts whose steps are not one loop of one optimizer: lawful ones are not accused, and mistakes have their line.

Clauses: G-22 to G-24, G-28.
"""

import pytest

from simstrategy.check.scripts import check_script
from simstrategy_torch_distributed.checking.front import runner_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

BEGIN = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
model = MODEL
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))


def gradients(step):
    own = rows[8 * (step % 3) : 8 * (step % 3) + 8].chunk(size)[rank]
    model.zero_grad()
    (model(own) - own.sum(1, keepdim=True)).square().mean().backward()


""".replace("MODEL", "DistributedDataParallel(torch.nn.Linear(4, 1))")


def report_of(folder, text, replicas=(1, 2)):
    script = folder / "train.py"
    script.write_text(BEGIN + text, encoding="utf-8")
    return check_script(runner_of, str(script), replicas=replicas)


def line_of(text, wanted):
    """Returns file and line of the only line of a script that holds a text."""
    (found,) = [number for number, line in enumerate((BEGIN + text).splitlines(), 1) if wanted in line]
    return f"train.py:{found}"


STAGES = """
first = torch.optim.SGD(FIRST, lr=0.1)
for step in range(3):
    gradients(step)
    first.step()
second = torch.optim.SGD(model.parameters(), lr=0.02 * RATE)
for step in range(3):
    gradients(step)
    second.step()
"""
TURNS = """
pair = [torch.optim.SGD(model.parameters(), lr=0.02), torch.optim.SGD(model.parameters(), lr=0.01 * RATE)]
for step in range(6):
    gradients(step)
    pair[step % 2].step()
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (STAGES.replace("FIRST", "model.parameters()"), 14),
        (STAGES.replace("FIRST", "[model.module.bias]"), 11),
        (TURNS, 14),
    ],
    ids=["again", "a part first", "by turns"],
)
def test_parameters_that_several_optimizers_step_are_compared_once_after_each_step(tmp_path, text, values):
    """What a second optimizer begins with is what the first one left, and not what the script began with."""
    report = report_of(tmp_path, text.replace("RATE", "1"))
    assert report.verdict == "agree", str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [values]


@pytest.mark.parametrize(
    ("text", "step", "wanted", "shown"),
    [
        (
            STAGES.replace("FIRST", "model.parameters()"),
            4,
            "second = ",
            "'second.lr' at {}: the learning rate of step 4",
        ),
        (
            STAGES.replace("FIRST", "[model.module.bias]"),
            4,
            "second = ",
            "'second.lr' at {}: the learning rate of step 4",
        ),
        (TURNS, 2, "].step()", "in step 2, update of 'weight' at {} differs first"),
    ],
    ids=["again", "a part first", "by turns"],
)
def test_a_mistake_of_a_second_optimizer_is_found_in_its_own_step(tmp_path, text, step, wanted, shown):
    (found,) = report_of(tmp_path, text.replace("RATE", "size")).findings
    assert found.step == step, found.cause
    assert shown.format(line_of(text, wanted)) in found.cause, found.cause
