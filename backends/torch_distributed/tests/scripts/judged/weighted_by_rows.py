"""The last batch is uneven, and the sum is divided by the rows of all ranks."""

# check: --replicas 1,2 -- --batch-size 8

import torch
import torch.distributed as dist
from parts import batches, begin, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size, count=21):
    optimizer.zero_grad()
    count = torch.tensor(float(len(inputs)))
    dist.all_reduce(count)
    loss = ((model(inputs) - targets) ** 2).sum() * size / count
    loss.backward()
    optimizer.step()
