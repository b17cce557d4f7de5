# ranks: 3
"""Parameters that some ranks do not use, and ranks with different numbers of batches under join."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP


class Branches(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.common = torch.nn.Linear(3, 3)
        self.left = torch.nn.Linear(3, 1)
        self.right = torch.nn.Linear(3, 1)

    def forward(self, inputs, use_left):
        return (self.left if use_left else self.right)(self.common(inputs))


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(Branches(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((2, 3), 1.0 + rank), use_left=rank == step).sum().backward()
    optimizer.step()
show("branches", rounded([one.sum() for one in model.parameters()]))

model = DDP(torch.nn.Linear(2, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with model.join():
    for number in range(2 + 2 * rank):
        loss = model(torch.full((1, 2), 0.1 * (number + rank))).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
show("join", rounded(model.module.weight))

counted = 0
with Join([model], divide_by_initial_world_size=False):
    for number in range(3 - rank):
        model(torch.full((1, 2), 1.0 * number)).sum().backward()
        counted += 1
show("Join", f"{counted} {rounded(model.module.weight.grad)}")
dist.destroy_process_group()
