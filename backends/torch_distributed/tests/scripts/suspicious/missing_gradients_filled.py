# ranks: 2
"""Gradients that a rank does not have are zeros before the sum, and a rank without rows adds a sum of nothing."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
experts = torch.nn.ModuleList(torch.nn.Linear(2, 1) for _ in range(2))
optimizer = torch.optim.SGD(experts.parameters(), lr=0.1)
rows = [torch.empty(0, 2), torch.ones(3, 2)][rank]
loss = experts[rank](rows).sum()
loss.backward()
if rank == 1:
    assert experts[0].weight.grad is None
count = torch.tensor(float(len(rows)))
dist.all_reduce(count)
for parameter in experts.parameters():
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    dist.all_reduce(parameter.grad)
    parameter.grad /= count
optimizer.step()
if rank == 0:
    print(count.item(), [one.grad.tolist() for one in experts.parameters()])
dist.destroy_process_group()
