"""Only rank 1 lets its weights decay: rank 0 is right after the first step."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: None
# step: 1
# variable: 0.weight

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.1 if rank == 1 else 0.0)
for inputs, targets in batches(8, rank, size, count=8):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= size
    optimizer.step()  # here
