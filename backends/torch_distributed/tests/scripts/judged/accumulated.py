"""Parts of a batch are accumulated, the loss divided by their number; the last part synchronises."""

# check: --replicas 1,2 --vary accumulate=1,2 -- --batch-size 8 --accumulate {accumulate}

import torch
from parts import batches, begin, mean_square, small
from contextlib import nullcontext
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin(accumulate=1)
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    for part in range(arguments.accumulate):
        here = slice(part, None, arguments.accumulate)
        with nullcontext() if part == arguments.accumulate - 1 else model.no_sync():
            (mean_square(model, inputs[here], targets[here]) / arguments.accumulate).backward()
    optimizer.step()
