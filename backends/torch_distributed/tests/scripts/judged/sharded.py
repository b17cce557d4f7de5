"""FSDP shards the parameters: the whole ones are compared."""

# check: --replicas 1,2 -- --batch-size 8

import torch
from parts import batches, begin, mean_square, small
from torch.distributed.fsdp import fully_shard

arguments, rank, size = begin()
model = small()
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()
    optimizer.step()
