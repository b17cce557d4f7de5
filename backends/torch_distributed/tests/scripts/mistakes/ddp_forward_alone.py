# ranks: 2
"""Rank 0 calls the wrapped model for a check, which broadcasts its buffers."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = DDP(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = model(torch.randn(8, 4)).sum()  # here 1
    loss.backward()
    optimizer.step()
    if rank == 0:
        with torch.no_grad():
            check = model(torch.ones(4, 4))  # here 0
dist.barrier()
print("result", loss.shape)
dist.destroy_process_group()
