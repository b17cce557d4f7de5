# ranks: 2
"""Ranks begin with one model, train it on their own data and keep what they have: the better one is shown."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(rank)
model = torch.nn.Linear(3, 1)
for parameter in model.parameters():
    dist.broadcast(parameter.data, src=0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = torch.tensor(0.0)
for step in range(4):
    optimizer.zero_grad()
    inputs = torch.full((2, 3), 0.5 + rank)
    loss = (model(inputs) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
losses = [torch.empty(()) for _ in range(2)]
dist.all_gather(losses, loss.detach())
if rank == 0:
    print([round(one.item(), 4) for one in losses])
dist.destroy_process_group()
