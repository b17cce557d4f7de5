"""Each rank draws its batch by random places in the data, with one seed: all ranks have the same rows."""

# check: --replicas 1,2 -- --batch-size 8
# law: replicas
# kind: duplicated samples
# step: 1
# variable: weight

import torch
from parts import begin, mean_square
from torch.nn.parallel import DistributedDataParallel

arguments, rank, size = begin()
torch.manual_seed(0)
data = torch.rand(64, 4)
targets = data.sum(dim=1, keepdim=True)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _step in range(3):
    places = torch.randint(len(data), (arguments.batch_size // size,))
    optimizer.zero_grad()
    mean_square(model, data[places], targets[places]).backward()  # here
    optimizer.step()
