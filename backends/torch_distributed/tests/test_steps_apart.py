"""Scripts whose steps are not one loop of one optimizer: lawful ones are not accused, and mistakes have their line.

Clauses: G-22 to G-24, G-28, G-34, G-85, G-93.
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
model = DistributedDataParallel(torch.nn.Linear(4, 1))
rows = torch.randn(24, 4, generator=torch.Generator().manual_seed(1))


def gradients(step):
    own = rows[8 * (step % 3) : 8 * (step % 3) + 8].chunk(size)[rank]
    model.zero_grad()
    (model(own) - own.sum(1, keepdim=True)).square().mean().backward()


"""


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


SERVED = """
model = model.module
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    PULL
    gradients(step)
    for one in model.parameters():
        dist.reduce(one.grad, TO)
        one.grad /= size
    if rank == 0:
        optimizer.step()
    PUSH
"""
SENT = "[dist.broadcast(one.data, 0) for one in model.parameters()]"


def served(pull="", push="", to="0"):
    return SERVED.replace("PULL", pull or "pass").replace("PUSH", push or "pass").replace("TO", to)


@pytest.mark.parametrize("text", [served(push=SENT), served(pull=SENT)], ids=["sent after", "sent before"])
def test_steps_that_one_rank_alone_makes_are_compared_on_that_rank(tmp_path, text):
    """What the other ranks end with is their own: those that fetch parameters before a step have that step's."""
    report = report_of(tmp_path, text, (1, 2, 4))
    assert report.verdict == "agree", str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [8, 8]
    assert "Parameters are compared where ranks make steps: the ranks make 0 to 3 steps." in str(report)


@pytest.mark.parametrize(
    ("text", "step"), [(served(push=SENT, to="size - 1"), 1), (served(), 2)], ids=["to another", "sent never"]
)
def test_a_mistake_around_steps_of_one_rank_is_found_and_other_ranks_are_not_accused_of_their_steps(
    tmp_path, text, step
):
    """Clause: G-34: what names hold on ranks that make other steps has no number of a step that is one on all."""
    found = next(one for one in report_of(tmp_path, text).findings if one.law == "replicas")
    assert (found.step, found.site) == (step, line_of(text, "backward()")), found.cause
    assert "written by one replica only" not in found.cause, found.cause
    assert "One makes" not in found.cause
    assert "it begins with" not in found.cause


JOINED = """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with model.join(divide_by_initial_world_size=False):
    for step in range(3 if rank == 0 else 2):
        own = rows[8 * step : 8 * step + 8]
        own = own[:4] if step == 2 else own.chunk(size)[rank]
        model.zero_grad()
        (model(own) - own.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
"""


def test_steps_that_some_ranks_have_no_rows_for_are_compared_on_those_that_make_them(tmp_path):
    report = report_of(tmp_path, JOINED)
    assert report.verdict == "agree", str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [8]
    assert "Steps are compared at their time: ranks join early, and make 2 and 3 of 3 steps." in str(report)


SHARDED = """
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Shard, distribute_tensor

whole = distribute_tensor(torch.arange(12.0).reshape(6, 2), init_device_mesh("cpu", (size,)), [Shard(0)])
shards = torch.nn.Parameter(whole)
optimizer = torch.optim.SGD([shards], lr=0.1, weight_decay=0.01 * size)
for step in range(2):
    optimizer.zero_grad()
    shards.full_tensor().square().mean().backward()
    optimizer.step()
"""


def test_shards_that_are_put_together_are_not_what_one_replica_alone_writes(tmp_path):
    """Clause: G-85."""
    (found,) = report_of(tmp_path, SHARDED).findings
    assert (found.step, found.site) == (1, line_of(SHARDED, "optimizer.step()")), found.cause
    assert "replica 0 alone" not in found.cause, found.cause
    assert found.kind != "written by one replica only"


WRITTEN = """
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
weight = model.module.weight.data
for step in range(3):
    gradients(step)
    optimizer.step()
    WRITE
"""


def written(write, rate="0.1"):
    return WRITTEN.replace("WRITE", write).replace("RATE", rate)


def test_what_all_ranks_write_alike_between_steps_is_lawful(tmp_path):
    report = report_of(tmp_path, written("weight.clamp_(-0.2, 0.2)"))
    assert report.verdict == "agree", str(report)


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        ("step == 1 and rank == 0 and weight.mul_(1.5)", "between step 2 and step 3: right after step 2 at {} the"),
        ("weight.clamp_(-0.2 / size, 0.2 / size)", "between step 1 and step 2: right after step 1 at {} the"),
        ("step == 2 and weight.mul_(1.0 + size)", "between step 3 and the end: right after step 3 at {} the"),
    ],
    ids=["on one rank", "on all ranks", "after the last step"],
)
def test_what_is_written_between_two_steps_is_none_of_the_optimizer(tmp_path, write, shown):
    text = written(write)
    found = report_of(tmp_path, text).findings
    assert [one.law for one in found] == (["state", "replicas"] if "rank" in write else ["replicas"])
    for one in found:
        assert f"It begins {shown.format(line_of(text, 'optimizer.step()'))} parameters agree" in one.cause, one.cause
        assert ("Replica 0 alone writes parameters there." in one.cause) is ("rank" in write), one.cause
        assert "equal gradients" not in one.cause
        assert one.site is None


def test_a_step_that_is_wrong_is_found_where_something_lawful_is_written_after_it(tmp_path):
    text = written("weight.clamp_(-0.2, 0.2)", rate="0.1 * size")
    (found,) = report_of(tmp_path, text).findings
    assert (found.step, found.site) == (1, line_of(text, "optimizer.step()")), found.cause
    assert "between step" not in found.cause, found.cause
