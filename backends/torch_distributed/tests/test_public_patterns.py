"""Patterns of public training code: lawful scripts agree, and mistakes in them are found with their line.

Clauses: G-23, G-34, G-35, G-39, G-45, G-112, G-114.
"""

import pytest
import written_scripts
from shares import one_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

BEGIN = """
import torch
import torch.distributed as dist
import torch.distributed.nn
from torch.distributed.algorithms.join import Join
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy, mse_loss, normalize
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Subset, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows, targets = torch.randn(25, 4), torch.randn(25, 1)
"""


def report_of(folder, text, **named):
    return written_scripts.report_of(folder, BEGIN + text, **named)


def line_of(text, wanted):
    """Returns file and line of the only line of a script that holds a text."""
    (found,) = [number for number, line in enumerate((BEGIN + text).splitlines(), 1) if wanted in line]
    return f"train.py:{found}"


def compared(report):
    return [row.compared for row in report.rows if row.law == "replicas"]


ALONE = """
if size > 1:
    model, sampler = DistributedDataParallel(torch.nn.Linear(4, 1)), DistributedSampler(rows)
else:
    model, sampler = torch.nn.DataParallel(torch.nn.Linear(4, 1)), None
loader = DataLoader(TensorDataset(rows, targets), batch_size=24 // size, shuffle=sampler is None, sampler=sampler)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
"""


def test_a_path_of_one_rank_without_the_sampler_is_not_judged(tmp_path):
    report = report_of(tmp_path, ALONE)
    assert report.verdict == "undecided", str(report)
    assert report.rows[-1].why == "other orders of rows"
    assert f"with 1 replica RandomSampler draws the order of the rows that {line_of(ALONE, 'for x')}" in str(report)
    assert "before the first step" not in str(report)


TIMED = """
import time
class Meter:
    def update(self, value):
        self.value = value
meter = Meter()
model = DistributedDataParallel(MODULE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
begun = time.time()
for _ in range(2):
    meter.update(time.time() - begun)
    optimizer.zero_grad()
    LOSS.backward()
    optimizer.step()
"""
LOSSES = {
    "torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))": "statistics per replica",
    "torch.nn.Linear(4, 3)": "divided by the number of replicas once too often",
}


@pytest.mark.parametrize("module", one_in(2, LOSSES))
def test_a_time_is_no_line_where_a_difference_begins(tmp_path, module):
    divided = "" if "BatchNorm" in module else " / size"
    loss = f"(model(rows[:24].chunk(size)[rank]).square().mean(){divided})"
    report = report_of(tmp_path, TIMED, MODULE=module, LOSS=loss)
    assert report.verdict == "differ", str(report)
    assert "'value'" not in str(report), str(report)
    assert f"The kind is {LOSSES[module]}" in str(report)


JOINED = """
mine = Subset(TensorDataset(rows, targets), range(rank, 25, size))
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    with Join([model]):
        for x, y in DataLoader(mine, batch_size=12 // size):
            optimizer.zero_grad()
            LOSS.backward()
            optimizer.step()
"""


def test_steps_of_a_rank_that_has_joined_before_are_no_other_steps(tmp_path):
    """In the second epoch a rank's step has a lower number than the step of the others at that time."""
    report = report_of(tmp_path, JOINED, LOSS="(mse_loss(model(x), y, reduction='sum') * size / 12)")
    assert report.verdict == "agree", str(report)
    assert compared(report) == [14]
    assert "Steps are compared at their time: ranks join early, and make 4 and 6 of 6 steps." in str(report)


def test_a_mistake_in_a_step_that_some_ranks_have_joined_in_is_found(tmp_path):
    (found,) = report_of(tmp_path, JOINED, LOSS="mse_loss(model(x), y)").findings
    assert (found.step, found.site) == (3, line_of(JOINED, "backward()")), found.cause
    assert found.kind == "divided by the number of replicas once too often"


OF_EACH_SAMPLE = """
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
noise = torch.Generator().manual_seed(9)


def loss_of(parameters, x, y):
    return mse_loss(functional_call(model, parameters, (x[None],)), y[None])


for step in range(3):
    own = slice(8 * step, 8 * step + 8)
    x, y = rows[own].chunk(size)[rank], targets[own].chunk(size)[rank]
    parameters = {name: one.detach() for name, one in model.named_parameters()}
    gradients = vmap(grad(loss_of), in_dims=(None, 0, 0))(parameters, x, y)
    for name, one in model.named_parameters():
        scale = (1 / gradients[name].flatten(1).norm(dim=1)).clamp(max=1)
        total = torch.einsum("b,b...->...", scale, gradients[name])
        total = total + BEFORE * torch.randn(one.shape, generator=noise)
        dist.all_reduce(total)
        one.grad = (total + AFTER * torch.randn(one.shape, generator=noise)) / 8
    optimizer.step()
"""


def test_gradients_of_each_sample_are_judged(tmp_path):
    """Modules are called with tensors that have no elements of their own there."""
    report = report_of(tmp_path, OF_EACH_SAMPLE, BEFORE="0.0", AFTER="0.1")
    assert report.verdict == "agree", str(report)
    assert compared(report) == [16]


def test_noise_that_every_rank_adds_before_the_sum_is_found(tmp_path):
    (found,) = report_of(tmp_path, OF_EACH_SAMPLE, BEFORE="0.1", AFTER="0.0").findings
    wanted = line_of(OF_EACH_SAMPLE, "total = total +")
    assert f"In the script it may begin with 'total' at {wanted}" in found.cause, found.cause


ITERABLE = """
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(TensorDataset(rows, targets), batch_size=8 // size, sampler=SAMPLER):
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("sampler", one_in(2, ["list(range(rank, 24, size))", "range(rank, 24, size)"]))
def test_any_iterable_is_a_sampler(tmp_path, sampler):
    report = report_of(tmp_path, ITERABLE, SAMPLER=sampler)
    assert report.verdict == "agree", str(report)


SEEDED = """
import random

boxes = [1 + (5 * number) % 7 for number in range(24)]


class Images(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, number):
        SEED
        return DRAWN, boxes[number]


data = Images()
sampler = DistributedSampler(data, shuffle=False)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, counts in DataLoader(data, batch_size=8 // size, sampler=sampler):
    total = counts.sum().float()
    REDUCE
    optimizer.zero_grad()
    loss = (model(x).squeeze(1) * counts).sum() * size / total
    loss.backward()
    optimizer.step()
"""
SEEDS = {
    "object": ("own = torch.Generator().manual_seed(number)", "torch.randn(4, generator=own)"),
    "global": ("random.seed(number)", "torch.tensor([random.gauss(0, 1) for _ in range(4)])"),
}
"""What is seeded with the number of a sample, and what is drawn."""


@pytest.mark.parametrize("name", one_in(2, SEEDS))
def test_seeds_of_samples_hide_no_mistake(tmp_path, name):
    """The ranks share the samples out, so all together they seed with the same numbers, however many they are."""
    seed, drawn = SEEDS[name]
    named = {"SEED": seed, "DRAWN": drawn}
    report = report_of(tmp_path, SEEDED, REDUCE="dist.all_reduce(total)", **named)
    assert report.verdict == "agree", str(report)
    report = report_of(tmp_path, SEEDED, REDUCE="total *= size", **named)
    (found,) = report.findings
    assert found.kind == "mean of means", str(report)


CONTRASTED = """
class Towers(torch.nn.Module):
    def __init__(self):
        torch.nn.Module.__init__(self)
        self.image, self.text = torch.nn.Linear(4, 3), torch.nn.Linear(1, 3)
        self.scale = torch.nn.Parameter(torch.ones([]))

    def forward(self, image, text):
        return normalize(self.image(image), dim=1), normalize(self.text(text), dim=1), self.scale.exp()


def without_gradient(own):
    parts = [torch.zeros_like(own) for _ in range(size)]
    dist.all_gather(parts, own)
    parts[rank] = own
    return torch.cat(parts)


def with_gradient(own):
    return torch.cat(torch.distributed.nn.all_gather(own))


data = Subset(TensorDataset(rows, targets), range(24))
model = DistributedDataParallel(Towers())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=8 // size, sampler=DistributedSampler(data)):
    images, texts, scale = model(x, y)
    logits = scale * GATHERED(images) @ GATHERED(texts).T
    numbers = torch.arange(8)
    loss = (cross_entropy(logits, numbers) + cross_entropy(logits.T, numbers)) / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_what_is_gathered_with_its_gradient_agrees(tmp_path):
    report = report_of(tmp_path, CONTRASTED, GATHERED="with_gradient")
    assert report.verdict == "agree", str(report)


def test_what_is_gathered_without_its_gradient_is_found_beside_numbers_that_are_no_rows(tmp_path):
    """A scale beside rows is no row that comes twice, and what is gathered has rows and columns in another order."""
    (found,) = report_of(tmp_path, CONTRASTED, GATHERED="without_gradient").findings
    assert "twice or more often" not in found.cause, found.cause
    assert "The loss of this step agrees" in found.cause, found.cause
    assert f"all_gather at {line_of(CONTRASTED, 'dist.all_gather(')}" in found.cause, found.cause


STREAMED = """
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        yield from zip(rows[OWN], targets[OWN])


model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(Stream(), batch_size=8 // size, drop_last=True):
    optimizer.zero_grad()
    mse_loss(model(x), y).backward()
    optimizer.step()
"""


def test_a_stream_that_every_rank_reads_whole_has_each_sample_twice(tmp_path):
    """A step has half of the reference's rows then, and both ranks have the same: no sample is missing."""
    report = report_of(tmp_path, STREAMED, OWN="rank:24:size")
    assert report.verdict == "agree", str(report)
    (found,) = report_of(tmp_path, STREAMED, OWN=":24").findings
    assert "are missing" not in found.cause, found.cause
    assert "all replicas hold the same rows of '__iter__()'" in found.cause, found.cause
    assert found.kind == "duplicated samples"
