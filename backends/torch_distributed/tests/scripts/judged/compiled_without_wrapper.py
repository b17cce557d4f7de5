"""The compiled model is not the one that is wrapped, so gradients are not averaged."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: missing reduction
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = small()
wrapped, compiled = DistributedDataParallel(model), torch.compile(model)
optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(compiled(inputs), targets).backward()  # here
    optimizer.step()
