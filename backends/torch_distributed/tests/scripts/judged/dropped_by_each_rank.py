"""A dropout under DistributedDataParallel, with one seed: each rank draws the masks of its own rows."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: different draws
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
torch.manual_seed(0)
layers = [torch.nn.Linear(4, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 1)]
model = DistributedDataParallel(torch.nn.Sequential(*layers))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()  # here
    optimizer.step()
