"""Gradients are added and divided by the number of ranks."""

# check: --replicas 1,3 -- --batch-size 6

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= size
    optimizer.step()
