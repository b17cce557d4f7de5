"""The loop that combines gradients leaves out the last parameter."""

# check: --replicas 1,3 -- --batch-size 6
# law: replicas
# kind: missing reduction
# step: 1
# variable: 2.bias

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small

arguments, rank, size = begin()
model = small()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()  # here
    for parameter in list(model.parameters())[:-1]:
        dist.all_reduce(parameter.grad)
        parameter.grad /= size
    optimizer.step()
