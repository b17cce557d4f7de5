# ranks: 2
"""Dropout has another mask on each rank, the parameters stay equal, and evaluation needs no collective."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
model = DDP(net)
torch.manual_seed(99 + rank)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses = []
for _ in range(3):
    loss = model(torch.ones(4, 8)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(round(loss.item(), 4))
model.eval()
with torch.no_grad():
    value = model(torch.ones(1, 8)).item()
reports = [None] * 2
dist.all_gather_object(reports, (losses, round(value, 4)))
if rank == 0:
    print(*reports, sep="\n")
dist.destroy_process_group()
