# ranks: 2
"""Seven batches make four on one rank and three on the other."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batches = torch.ones(7, 2, 4)[rank::2]  # four batches on rank 0, three on rank 1
for batch in batches:
    optimizer.zero_grad()
    model(batch).sum().backward()  # here 0
    optimizer.step()
dist.barrier()  # here 1
print("result", model.module.bias.item())
dist.destroy_process_group()
