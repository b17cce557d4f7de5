# ranks: 3
"""The schedule of the learning rate is stepped by rank 0 alone, beside the log that it keeps."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = DDP(torch.nn.Linear(3, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
for epoch in range(3):
    optimizer.zero_grad()
    model(torch.full((2, 3), 1.0 + rank)).pow(2).mean().backward()
    optimizer.step()  # here 0
    if rank == 0:
        schedule.step()
same = [torch.empty(1) for _ in range(3)]
dist.all_gather(same, model.module.bias.detach())
if rank == 0:
    print("result", bool(same[0] == same[1] == same[2]))
dist.destroy_process_group()
