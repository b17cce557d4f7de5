"""DDP takes the mean already; the loss is divided by the number of ranks as well."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: divided by the number of replicas once too often
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    loss = mean_square(model, inputs, targets) / size
    loss.backward()  # here
    optimizer.step()
