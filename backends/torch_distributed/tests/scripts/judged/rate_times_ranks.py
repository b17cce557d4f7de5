"""The rate is multiplied by the number of ranks, though the global batch is the same."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: other learning rate
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05 * size)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    optimizer.step()  # here
