"""Batches that are padded to the longest row of each replica: no row of them is missing where padding is.

Clause: G-36.
"""

import pytest
import written_scripts
from shares import one_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("warm_checks")]

PADDED = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(3)
lengths = torch.randint(3, 12, (32,))
texts = [torch.randint(1, 20, (int(one),)) for one in lengths]
labels = torch.randn(32)

def collated(texts, labels):
    ids = nn.utils.rnn.pad_sequence(texts, batch_first=True)
    batch = BATCH
    return batch

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 8), nn.Linear(8, 1)

    def forward(self, ids):
        mask = (ids > 0).float()[..., None]
        return self.head((self.embedding(ids) * mask).sum(1) / mask.sum(1)).squeeze(1)

model = DistributedDataParallel(Model())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(0, 32, 8):
    rows = range(number, number + 8)[rank * 8 // size : (rank + 1) * 8 // size]
    batch = collated([texts[row] for row in rows], labels[list(rows)])
    ids, wanted = GIVEN
    optimizer.zero_grad()
    (nn.functional.mse_loss(model(ids), wanted) DIVIDED).backward()
    optimizer.step()
"""
BATCHES = {
    "dict": ("{'ids': ids, 'mask': (ids > 0).long(), 'wanted': labels}", "batch['ids'], batch['wanted']"),
    "flat": ("[ids.reshape(-1), labels, len(texts)]", "batch[0].reshape(batch[2], -1), batch[1]"),
    "numbers": ("ids.reshape(-1)", "batch.reshape(len(rows), -1), labels[list(rows)]"),
    "rows": ("ids", "batch, labels[list(rows)]"),
}


@pytest.mark.parametrize("batch", one_in(2, BATCHES))
def test_padding_that_other_replicas_need_more_of_is_no_missing_row(tmp_path, batch):
    made, given = BATCHES[batch]
    (found,) = written_scripts.report_of(tmp_path, PADDED, BATCH=made, GIVEN=given, DIVIDED="/ size").findings
    assert "divided by the number of replicas once too often" in found.cause, found.cause
    assert "missing" not in found.cause, found.cause


def test_rows_that_are_lost_of_a_batch_of_several_arrays_are_counted(tmp_path):
    """Each row is one of all arrays together."""
    made = "{name: one[: len(one) - (rank > 0)] for name, one in [('ids', ids[:, :3]), ('wanted', labels)]}"
    given = BATCHES["dict"][1]
    (found,) = written_scripts.report_of(tmp_path, PADDED, BATCH=made, GIVEN=given, DIVIDED="").findings
    assert "1 row is missing of the 8 that 'batch' has in the reference" in found.cause, found.cause
