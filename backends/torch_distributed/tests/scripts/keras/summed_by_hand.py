"""Each rank's loss is a sum over its rows, divided by the rows of all; the gradients are added."""

# check: --replicas 1,2 -- --batch-size {8//replicas}

import torch
import torch.distributed as dist
from parts import batches, begin, model

batch_size, rank, size = begin()
net = model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for inputs, labels in batches(batch_size, rank, size):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(inputs), labels, reduction="sum") / (batch_size * size)
    loss.backward()
    for parameter in net.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
