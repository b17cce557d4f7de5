"""The loop of Keras's guide for torch: the model is wrapped by DistributedDataParallel."""

# check: --replicas 1,2 -- --batch-size {8//replicas}

import torch
from parts import batches, begin, model
from torch.nn.parallel import DistributedDataParallel

batch_size, rank, size = begin()
net = DistributedDataParallel(model())
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(inputs), labels).backward()
    optimizer.step()
