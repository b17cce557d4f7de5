"""Scripts whose ranks join at unequal times, average by hand or share rows in a way of their own, and their mistakes.

A cause accuses no samples, draws or sums where a learning rate, a bound or a share of dropped elements is wrong.
Clauses: G-23, G-28, G-36, G-39, G-91, G-93, G-99.
"""

import pytest
import written_scripts

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

BEGIN = """
import torch
import torch.distributed as dist
from torch.distributed.algorithms.join import Join
from torch.nn.functional import dropout, mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows, targets = torch.randn(36, 4), torch.randn(36, 1)
"""


def report_of(folder, text, **named):
    return written_scripts.report_of(folder, BEGIN + text, **named)


def cause_of(folder, text, **named):
    found = [one for one in report_of(folder, text, **named).findings if one.law == "replicas"]
    return found[0]


def line_of(text, wanted):
    """Returns file and line of the only line of a script that holds a text."""
    (found,) = [number for number, line in enumerate((BEGIN + text).splitlines(), 1) if wanted in line]
    return f"train.py:{found}"


APART = """
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    with JOIN:
        for step in range(3):
            own = slice(18 * epoch + 6 * step, 18 * epoch + 6 * step + 6)
            x, y = rows[own], targets[own]
            if size == 2 and step == 2 and rank != epoch:
                break
            if size == 1 or step < 2:
                x, y = x[rank::size], y[rank::size]
            optimizer.zero_grad()
            (mse_loss(model(x), y, reduction="sum") / 6 * FACTOR).backward()
            optimizer.step()
"""


@pytest.mark.parametrize("join", ["Join([model])", "model.join()"])
def test_steps_of_ranks_that_join_at_unequal_times_are_compared_at_their_time(tmp_path, join):
    """Each rank makes five of six steps, and its third one is another one of the reference's."""
    report = report_of(tmp_path, APART, JOIN=join, FACTOR="size")
    assert report.verdict == "agree", str(report)
    assert [row.compared for row in report.rows if row.law == "replicas"] == [14]
    assert "Steps are compared at their time: ranks join early, and make 5 of 6 steps." in str(report)


@pytest.mark.deep
def test_a_mistake_in_a_step_of_ranks_that_join_at_unequal_times_is_found(tmp_path):
    found = cause_of(tmp_path, APART, JOIN="Join([model])", FACTOR="(size if epoch else 1)")
    assert found.step == 1, found.cause
    found = cause_of(tmp_path, APART, JOIN="Join([model])", FACTOR="(1 if epoch else size)")
    assert found.step == 4, found.cause
    assert found.kind == "divided by the number of replicas once too often"


OF_SAMPLES = """
class Augmented(Dataset):
    def __len__(self):
        return 2400

    def __getitem__(self, number):
        noise = torch.Generator().manual_seed(SEED)
        row = rows[number % 36]
        return row + 0.1 * torch.randn(4, generator=noise), targets[number % 36]


data = Augmented()
loader = DataLoader(data, batch_size=600 // size, sampler=DistributedSampler(data, shuffle=False))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
for x, y in loader:
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.deep
def test_seeds_of_thousands_of_samples_hide_nothing(tmp_path):
    assert cause_of(tmp_path, OF_SAMPLES, SEED="number", RATE="0.1 * size").kind == "other learning rate"
    assert report_of(tmp_path, OF_SAMPLES, SEED="number", RATE="0.1").verdict == "agree"


@pytest.mark.deep
def test_thousands_of_seeds_of_a_rank_are_draws_of_its_own(tmp_path):
    report = report_of(tmp_path, OF_SAMPLES, SEED="number + 5000 * rank", RATE="0.1")
    assert report.verdict == "undecided", str(report)


BY_HAND = """
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=RATE, weight_decay=DECAY)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    x, y = rows[own][rank::size], targets[own][rank::size]
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    for one in model.parameters():
        dist.all_reduce(one.grad)
        one.grad /= DIVISOR
    optimizer.step()
"""
RIGHT = {"RATE": "0.1", "DECAY": "0.1", "DIVISOR": "size"}


def test_gradients_that_are_averaged_by_hand_are_lawful(tmp_path):
    assert report_of(tmp_path, BY_HAND, **RIGHT).verdict == "agree"


@pytest.mark.parametrize("rate", ["0.1 * 1.37 ** (size - 1)", "0.1 * size", "0.1 / size"])
def test_another_learning_rate_is_no_factor_of_samples_or_sums(tmp_path, rate):
    """What optimizers make of equal gradients is equal on all ranks, and a factor of it is that of the rate."""
    found = cause_of(tmp_path, BY_HAND, **RIGHT | {"RATE": rate})
    assert found.kind == "other learning rate", found.cause
    for word in ("duplicated", "Remove", "same examples"):
        assert word not in found.cause


def test_another_weight_decay_is_none_of_the_samples(tmp_path):
    found = cause_of(tmp_path, BY_HAND, **RIGHT | {"DECAY": "0.1 * size"})
    assert found.kind is None, found.cause
    assert "update of" in found.cause


def test_rows_that_every_rank_holds_and_shares_out_are_not_duplicated(tmp_path):
    found = cause_of(tmp_path, BY_HAND, **RIGHT | {"DIVISOR": "1"})
    assert found.kind == "sum of means"
    assert "duplicated" not in found.cause, found.cause


FLAT = """
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    optimizer.zero_grad()
    mse_loss(model(rows[own][rank::size]), targets[own][rank::size]).backward()
    flat = torch.cat([one.grad.flatten() for one in model.parameters()])
    dist.all_reduce(flat)
    flat /= size ** 2
    model.weight.grad.copy_(flat[:4].view(1, 4))
    model.bias.grad.copy_(flat[4:])
    optimizer.step()
"""


def test_a_sum_is_not_accused_of_a_division_after_it(tmp_path):
    found = cause_of(tmp_path, FLAT)
    assert found.kind == "divided by the number of replicas once too often"
    assert "Take the mean" not in found.cause, found.cause


IN_STEP = """
class Distributed(torch.optim.SGD):
    def step(self, closure=None):
        for one in self.param_groups[0]["params"]:
            dist.all_reduce(one.grad)
            one.grad /= size
        return super().step(closure)


model = torch.nn.Linear(4, 1)
optimizer = Distributed(model.parameters(), lr=RATE)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    optimizer.zero_grad()
    mse_loss(model(rows[own][rank::size]), targets[own][rank::size]).backward()
    optimizer.step()
"""


def test_gradients_that_the_step_itself_averages_are_reduced(tmp_path):
    """Clause: G-99."""
    assert report_of(tmp_path, IN_STEP, RATE="0.1").verdict == "agree"
    found = cause_of(tmp_path, IN_STEP, RATE="0.1 * size")
    assert found.kind == "other learning rate", found.cause
    assert "not reduced" not in found.cause


LOCAL = """
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    optimizer.zero_grad()
    mse_loss(model(rows[own][rank::size]), targets[own][rank::size]).backward()
    optimizer.step()
    for one in model.parameters():
        dist.all_reduce(one.data)
        one.data /= DIVISOR
"""


def test_parameters_that_are_averaged_after_a_step_need_no_gradients_that_are(tmp_path):
    """Clause: G-99."""
    assert report_of(tmp_path, LOCAL, DIVISOR="size").verdict == "agree"
    found = cause_of(tmp_path, LOCAL, DIVISOR="1")
    assert "the mean of the replicas' parameters is the reference's" in found.cause
    assert "not reduced" not in found.cause, found.cause


WHOLE = """
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    mse_loss(model(ROWS), targets).backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), BOUND)
    for one in model.parameters():
        dist.all_reduce(one.grad)
        one.grad /= size
    optimizer.step()
"""


@pytest.mark.deep
def test_equal_gradients_of_the_whole_batch_are_meant(tmp_path):
    assert report_of(tmp_path, WHOLE, ROWS="rows", BOUND="0.3").verdict == "agree"
    found = cause_of(tmp_path, WHOLE, ROWS="rows", BOUND="0.3 / size")
    assert found.kind is None, found.cause


SAME_PART = """
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    optimizer.zero_grad()
    mse_loss(model(rows[own][::size]), targets[own][::size]).backward()
    optimizer.step()
"""


def test_equal_gradients_of_one_part_are_of_duplicated_samples(tmp_path):
    assert cause_of(tmp_path, SAME_PART).kind == "duplicated samples"


DROPS = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.drop = torch.nn.Linear(4, 8), torch.nn.Linear(8, 1), torch.nn.Dropout(0.4)

    def forward(self, x):
        return self.last(self.first(x) * MASK)


model = DistributedDataParallel(Net())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    model.train(TRAINS)
    torch.manual_seed(step)
    optimizer.zero_grad()
    mse_loss(model(rows[own][rank::size]), targets[own][rank::size]).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("mask", "trains", "shown"),
    [
        ("dropout(torch.ones(8), 0.4 / size)", "True", "is given 0.2, and 0.4 in the reference."),
        ("torch.bernoulli(torch.full((8,), 0.7 if size == 1 else 0.6))", "True", "is given 0.6, and 0.7 in"),
        ("self.drop(torch.ones(8))", "size == 1", "Dropout draws in the reference alone."),
    ],
    ids=["share", "bernoulli", "off"],
)
def test_another_share_is_no_other_draw(tmp_path, mask, trains, shown):
    """Clause: G-99."""
    found = cause_of(tmp_path, DROPS, MASK=mask, TRAINS=trains)
    assert found.kind is None, found.cause
    assert shown in found.cause


def test_a_mask_that_all_ranks_draw_alike_is_lawful(tmp_path):
    assert report_of(tmp_path, DROPS, MASK="dropout(torch.ones(8), 0.4)", TRAINS="True").verdict == "agree"


OWNED = """
model = torch.nn.Linear(4, 1)
parameters = list(model.parameters())
owned = [one for number, one in enumerate(parameters) if number % size == rank]
optimizer = torch.optim.Adam(owned, lr=0.1)
for step in range(3):
    own = slice(12 * step, 12 * step + 12)
    model.zero_grad()
    mse_loss(model(rows[own][rank::size]), targets[own][rank::size]).backward()
    for number, one in enumerate(parameters):
        dist.reduce(one.grad, number % size)
        one.grad /= FACTOR * size
    optimizer.step()
    for number, one in enumerate(parameters[FIRST:]):
        dist.broadcast(one.data, (number + FIRST) % size)
"""


def test_steps_of_other_parameters_on_each_rank_are_not_said_to_agree(tmp_path):
    assert report_of(tmp_path, OWNED, FACTOR="1", FIRST="0").verdict == "agree"
    found = cause_of(tmp_path, OWNED, FACTOR="1", FIRST="1")
    assert "All steps that both runs make agree" not in found.cause, found.cause
