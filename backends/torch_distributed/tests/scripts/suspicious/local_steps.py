# ranks: 2
"""Local SGD: ranks differ for three steps on purpose, and their parameters are averaged every fourth."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
apart = []
for step in range(8):
    inputs = torch.randn(3, 2, generator=torch.Generator().manual_seed(step * 10 + rank))
    optimizer.zero_grad()
    (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
    if step % 4 == 3:
        apart.append(round(model.weight.sum().item(), 4))
        for parameter in model.parameters():
            dist.all_reduce(parameter.data, op=dist.ReduceOp.AVG)
reports = [None] * 2
dist.all_gather_object(reports, (apart, round(model.weight.sum().item(), 4)))
if rank == 0:
    print(*reports, sep="\n")
dist.destroy_process_group()
