"""Gradients of means are added, and not divided by the number of ranks."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: sum of means
# step: 1
# variable: 0.weight

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)  # here
    optimizer.step()
