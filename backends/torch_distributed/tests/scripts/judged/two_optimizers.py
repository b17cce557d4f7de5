"""Two models and two optimizers, one of which steps every second time; losses are observed."""

# check: --replicas 1,2 -- --batch-size 8

import torch
import torch.distributed as dist
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel
from simstrategy_torch_distributed import observe

arguments, rank, size = begin()
first, second = DistributedDataParallel(small()), DistributedDataParallel(small(seed=3))
optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (first, second)]
for number, (inputs, targets) in enumerate(batches(arguments.batch_size, rank, size)):
    for model, optimizer in zip((first, second), optimizers, strict=True):
        if model is second and number % 2:
            continue
        optimizer.zero_grad()
        loss = mean_square(model, inputs, targets)
        loss.backward()
        optimizer.step()
    dist.all_reduce(loss.data, dist.ReduceOp.AVG)
    observe("loss", loss)
