"""The wrapper is compiled, and the function of the loss."""

# check: --replicas 1,2,3 -- --batch-size 6

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = torch.compile(DistributedDataParallel(small()), fullgraph=True)
loss_of = torch.compile(mean_square)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    loss_of(model, inputs, targets).backward()
    optimizer.step()
