# ranks: 2
"""Gradients are divided while they are still added up, and no result is waited for."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = torch.nn.Linear(2000, 500, bias=False)
model(torch.full((1, 2000), 1.0 + rank)).sum().backward()
for parameter in model.parameters():
    work = dist.all_reduce(parameter.grad, async_op=True)  # here 0
    parameter.grad /= 2
norm = model.weight.grad.norm()
if rank == 0:
    print("result", round(norm.item(), 1))
dist.barrier()
dist.destroy_process_group()
