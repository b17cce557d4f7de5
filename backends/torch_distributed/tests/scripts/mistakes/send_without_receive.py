# ranks: 2
"""Three messages are sent, two are received."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
for step in range(3):
    if rank == 0:
        dist.send(torch.full((1 << 20,), float(step)), dst=1)  # here 0
    elif step < 2:
        received = torch.empty(1 << 20)
        dist.recv(received, src=0)
if rank == 1:
    print("result", received[0].item())
dist.destroy_process_group()
