"""All parts of a batch are computed inside of no_sync, the last one as well."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: missing reduction
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    with model.no_sync():
        for part in range(2):
            (mean_square(model, inputs[part::2], targets[part::2]) / 2).backward()  # here
    optimizer.step()
