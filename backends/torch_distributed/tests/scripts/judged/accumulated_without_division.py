"""Gradients of parts of a batch are added, and the loss of a part is not divided by their number."""

# check: --replicas 1,2 --vary accumulate=1,2,4 -- --batch-size 8 --accumulate {accumulate}
# law: cut
# kind: wrong factor
# step: 1
# variable: 0.weight

import torch
from parts import batches, begin, mean_square, small
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin(accumulate=1)
model = DistributedDataParallel(small())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for inputs, targets in batches(arguments.batch_size, rank, size):
    optimizer.zero_grad()
    for part in range(arguments.accumulate):
        here = slice(part, None, arguments.accumulate)
        mean_square(model, inputs[here], targets[here]).backward()  # here
    optimizer.step()
