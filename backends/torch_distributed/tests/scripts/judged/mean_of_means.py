"""The last batch has 5 rows, of which one rank takes 3 and the other 2; both means weigh the same."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: mean of means
# step: 3
# variable: 0.weight

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size, count=21):
    optimizer.zero_grad()
    mean_square(model, inputs, targets).backward()  # here
    optimizer.step()
