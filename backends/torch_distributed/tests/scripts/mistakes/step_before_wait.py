# ranks: 2
"""Gradients are averaged in the background, and the works are waited for after the step that needs them."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.full((1, 2), 1.0 + rank)).sum().backward()
works = [dist.all_reduce(one.grad.data, async_op=True) for one in model.parameters()]
optimizer.step()  # here 0
for work in works:
    work.wait()
if rank == 0:
    print("result", model.bias.isfinite().item())
dist.destroy_process_group()
