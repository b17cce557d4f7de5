# ranks: 2
"""Gradients are averaged by hand, and those of parameters with one dimension are left out."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(rank)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
for parameter in model.parameters():
    dist.broadcast(parameter.data, src=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((2, 4), 1.0 + rank)).sum().backward()
    for parameter in model.parameters():
        if parameter.dim() > 1:
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.AVG)
    optimizer.step()  # here 0
biases = [torch.empty(3) for _ in range(2)]
dist.all_gather(biases, model[0].bias.detach())
if rank == 0:
    print("result", torch.equal(*biases))
dist.destroy_process_group()
