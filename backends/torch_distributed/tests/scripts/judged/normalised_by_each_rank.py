"""A batch normalisation under DistributedDataParallel: each rank has the mean and the variance of its own rows."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: statistics per replica
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
torch.manual_seed(0)
layers = [torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()  # here
    optimizer.step()
