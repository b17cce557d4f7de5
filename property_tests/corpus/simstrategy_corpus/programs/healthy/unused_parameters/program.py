"""Two heads, of which a rank's rows may use one."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class TwoHeads(torch.nn.Module):
    """Chooses a head by the number of a row."""

    def __init__(self):
        super().__init__()
        self.heads = torch.nn.ModuleList([torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)])

    def forward(self, rows, numbers):
        chosen = [self.heads[number % 2](row) for row, number in zip(rows, numbers, strict=True)]
        return torch.cat(chosen)


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(51)
rows = torch.randn(8, 3)
mine = range(rank, 8, world)
model = DistributedDataParallel(TwoHeads(), find_unused_parameters=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    (model(rows[mine], mine) - 1).square().mean().backward()
    optimizer.step()
if rank == 0:
    print("result heads", *[head.weight.sum().item() for head in model.module.heads])
dist.destroy_process_group()
