"""What a script computes inside of a step that is given a closure; and means over labels that are shifted.

Clauses: G-117, G-118.
"""

import pytest
import written_scripts
from shares import one_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

BEGIN = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(3)
x, y = torch.randn(64, 4), torch.randn(64, 1)
"""


def report_of(folder, text, **named):
    return written_scripts.report_of(folder, BEGIN + text, **named)


CLOSURE = """
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for rows, targets in zip(x.split(8), y.split(8)):
    rows, targets = rows.chunk(size)[rank], targets.chunk(size)[rank]

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(rows), targets)
        loss = loss / DIVISOR
        loss.backward()
        return loss

    optimizer.step(GIVEN)
"""


@pytest.mark.parametrize("given", one_in(2, ["closure", "closure=closure"]))
def test_a_fault_in_the_closure_of_a_step_is_found_with_its_line(tmp_path, given):
    (found,) = report_of(tmp_path, CLOSURE, GIVEN=given, DIVISOR="size").findings
    assert "in step 1, gradient of 'weight' at train.py" in found.cause, found.cause
    assert "divided by the number of replicas once too often" in found.cause
    assert "In the script it begins with 'loss' at train.py:20" in found.cause


def test_a_right_step_with_a_closure_agrees(tmp_path):
    report = report_of(tmp_path, CLOSURE, GIVEN="closure", DIVISOR="2")
    assert report.verdict == "agree", str(report)


SHIFTED = """
lengths = torch.randint(3, 10, (64,))
ids = torch.randint(1, 20, (64, 10)) * (torch.arange(10) < lengths[:, None])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)

    def forward(self, input_ids, labels):
        scores = self.head(self.embedding(input_ids))
        return nn.functional.cross_entropy(scores[:, :-1].reshape(-1, 20), labels[:, 1:].reshape(-1))


model = DistributedDataParallel(Model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for input_ids in ids.split(16):
    input_ids = input_ids.chunk(size)[rank]
    labels = input_ids.masked_fill(input_ids == 0, -100)
    loss = model(input_ids, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_mean_over_labels_that_are_shifted_by_one_is_one_over_unequal_parts(tmp_path):
    (found,) = report_of(tmp_path, SHIFTED).findings
    assert "mean over unequal parts" in found.cause, found.cause
    assert "'labels'" in found.cause, found.cause


NEAR = """
lengths = torch.randint(3, 24, (64,))
texts = [torch.randint(1, 20, (int(one),)) for one in lengths]

def loss_of(model, part):
    ids = nn.utils.rnn.pad_sequence(part, batch_first=True)
    scores, wanted = model(ids)[:, :-1], ids[:, 1:]
    counted = wanted != 0
    entropy = nn.functional.cross_entropy(scores[counted], wanted[counted])
    more = torch.logsumexp(scores[counted], dim=-1).pow(2).mean()
    return entropy + 1e-3 * more

net = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
net[1].weight.data.mul_(1e-2)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(0, 64, 16):
    loss = loss_of(model, texts[number + rank * 16 // size : number + (rank + 1) * 16 // size])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""


def test_losses_that_are_near_each_other_do_not_agree(tmp_path):
    """The losses of all tokens are alike as long as the model knows nothing; and scores of padded texts are as wide."""
    (found,) = report_of(tmp_path, NEAR).findings
    assert "in step 1, gradient of" in found.cause, found.cause
    assert "The loss of this step agrees" not in found.cause, found.cause
    assert "begin" not in found.cause, found.cause


CLIPPED = """
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for turn, (rows, targets) in enumerate(zip(x[:16].split(8), y[:16].split(8))):
    model.require_backward_grad_sync = turn == 1
    loss = nn.functional.mse_loss(model(rows.chunk(size)[rank]), targets.chunk(size)[rank])
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
optimizer.step()
"""


def test_clipping_in_each_turn_is_among_what_may_be_between_a_loss_and_its_gradients(tmp_path):
    (found,) = report_of(tmp_path, CLIPPED).findings
    assert "The loss of this step agrees" in found.cause, found.cause
    assert "a clipping of each turn's gradients before those of all turns are added" in found.cause
