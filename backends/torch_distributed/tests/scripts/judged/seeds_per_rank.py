"""Each rank draws other weights, and no rank's are broadcast."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: different draws
# step: 1
# variable: 0.weight

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small(seed=rank)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= size
    optimizer.step()  # here
