# ranks: 2
"""Ranks take other branches of a model, so that parameters without a gradient differ: find_unused_parameters."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Tasks(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = torch.nn.Linear(2, 2)
        self.heads = torch.nn.ModuleList(torch.nn.Linear(2, size) for size in (1, 2, 3))

    def forward(self, inputs, task):
        return self.heads[task](self.trunk(inputs))


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = DDP(Tasks(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.ones(1, 2), task=(step + rank) % 3).sum().backward()
    optimizer.step()
reports = [None] * 2
dist.all_gather_object(reports, [round(one.sum().item(), 4) for one in model.parameters()])
if rank == 0:
    print(reports[0], reports[0] == reports[1], sep="\n")
dist.destroy_process_group()
