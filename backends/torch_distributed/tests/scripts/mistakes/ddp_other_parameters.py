# ranks: 2
"""The ranks build models with other layers in another order."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
names = ["query", "key", "value"] if rank == 0 else ["key", "query"]
model = torch.nn.ModuleDict({name: torch.nn.Linear(4, 6 if name == "key" else 3) for name in names})
wrapped = DDP(model)  # here 0
print("result", sum(one.numel() for one in wrapped.parameters()))
dist.destroy_process_group()
