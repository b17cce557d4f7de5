"""Ranks take steps of their own, and parameters are averaged after each: the same, for plain SGD."""

# check: --replicas 1,2 -- --batch-size 8

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    optimizer.step()
    for parameter in model.parameters():
        dist.all_reduce(parameter.data, dist.ReduceOp.AVG)
