"""Which rows the ranks take: loaders whose batches another object picks, and passes that are left at their length.

Clauses: G-45, G-46, G-114.
"""

import pytest
import written_scripts
from shares import one_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

BEGIN = """
import torch
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler
from torch.utils.data import SequentialSampler, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
rows = TensorDataset(torch.randn(24, 4), torch.randn(24, 1))


class Shard(BASE):
    def __init__(self, batches):
        self.batches = batches

    def __len__(self):
        return len(self.batches) // size

    def __iter__(self):
        for number, batch in enumerate(self.batches):
            if number % size == PICKED:
                yield batch


def seeded(seed):
    return torch.Generator().manual_seed(seed)


batches = BatchSampler(SAMPLER, 8 // size, drop_last=False)
loader = DataLoader(rows, batch_sampler=Shard(batches) if size > 1 else batches)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    iterator = iter(loader)
    for _ in range(len(loader)):
        x, y = next(iterator)
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()
"""
IN_ORDER = {"SAMPLER": "SequentialSampler(rows)", "PICKED": "rank", "BASE": "object"}
OWN_SHUFFLE = "RandomSampler(rows, generator=seeded(rank + size))"


def report_of(folder, **named):
    return written_scripts.report_of(folder, BEGIN, **IN_ORDER | named)


@pytest.mark.parametrize("base", one_in(2, ["object", "BatchSampler"]))
def test_batches_that_a_class_picks_are_what_each_rank_takes(tmp_path, base):
    report = report_of(tmp_path, BASE=base)
    assert report.verdict == "agree", str(report)
    assert "law of coverage" in str(report)
    assert "each rank draws the same" not in str(report)
    assert str(report).count("all samples drawn") == 2, str(report)


def test_ranks_that_pick_the_same_batches_are_named(tmp_path):
    report = report_of(tmp_path, PICKED="0")
    assert report.verdict == "differ", str(report)
    assert "each rank draws the same 12 indices" in str(report)


def test_another_order_with_another_number_of_ranks_is_not_judged(tmp_path):
    report = report_of(tmp_path, SAMPLER="RandomSampler(rows, generator=seeded(size))")
    assert report.verdict == "undecided", str(report)
    assert report.rows[-1].why == "other orders of rows"
    assert "with 1 replica RandomSampler draws the order of the rows that train.py:39 goes through, and with 2" in str(
        report
    )
    assert "replicas Shard does" in str(report)


def test_one_order_that_two_classes_draw_is_compared(tmp_path):
    report = report_of(tmp_path, SAMPLER="RandomSampler(rows, generator=seeded(3))")
    assert report.verdict == "agree", str(report)


def test_ranks_whose_own_shuffles_repeat_rows_have_no_other_order(tmp_path):
    report = report_of(tmp_path, SAMPLER=OWN_SHUFFLE)
    assert report.rows[-1].why == "each replica draws numbers of its own", str(report)


def test_a_seed_that_follows_the_number_of_ranks_is_named(tmp_path):
    text = "DataLoader(rows, batch_size=8 // size, sampler=DistributedSampler(rows, seed=size))"
    changed = BEGIN.replace("DataLoader(rows, batch_sampler=Shard(batches) if size > 1 else batches)", text)
    report = written_scripts.report_of(tmp_path, changed, **IN_ORDER)
    assert report.rows[-1].why == "other orders of rows", str(report)
    assert "DistributedSampler draws the order of the rows that train.py:39 goes through: the orders" in str(report)
    assert "Leave 1 out of --replicas, or let it draw one order with each number" in str(report)


def test_a_cause_is_found_beside_an_object_whose_class_cannot_be_asked(tmp_path):
    lazy = """
class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("the object is not made yet")


lazy = Lazy()
model = """
    text = BEGIN.replace("\nmodel = ", lazy).replace("mse_loss(model(x), y)", "(mse_loss(model(x), y) / size)")
    (found,) = written_scripts.report_of(tmp_path, text, **IN_ORDER).findings
    assert "divided by the number of replicas once too often" in found.cause, found.cause


@pytest.mark.deep
def test_batches_that_workers_take_ahead_are_no_whole_pass(tmp_path):
    # Of 4 batches 2 are taken before the first one is wanted.
    given = "batch_size=6 // size, sampler=DistributedSampler(rows), num_workers=2, prefetch_factor=1"
    sampled = f"DataLoader(rows, {given})"
    text = BEGIN.replace("DataLoader(rows, batch_sampler=Shard(batches) if size > 1 else batches)", sampled)
    left = text.replace("for _ in range(len(loader)):", "for _ in range(len(loader) - 2):")
    report = written_scripts.report_of(tmp_path, left, **IN_ORDER)
    assert report.verdict == "agree", str(report)
    assert "law of coverage" not in str(report)
