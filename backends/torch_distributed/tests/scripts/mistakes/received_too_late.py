# ranks: 2
"""A stage computes with what it receives before the receive has ended."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
    dist.send(torch.arange(4.0), dst=1)
else:
    entered = torch.zeros(4)
    work = dist.irecv(entered, src=0)
    made = torch.relu(entered.view(2, 2)).sum()  # here 0
    work.wait()
    print("result", made.item())
dist.barrier()
dist.destroy_process_group()
