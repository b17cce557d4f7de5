"""Each rank draws other weights, and DistributedDataParallel broadcasts those of rank 0."""

# check: --replicas 1,2 -- --batch-size 8

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small(seed=rank))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    optimizer.step()
