# ranks: 2
"""Gradients are added up where a rank has them: other parameters on each rank."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
torch.manual_seed(0)
experts = torch.nn.ModuleList(torch.nn.Linear(2, size) for size in (1, 3))
router = torch.nn.Linear(2, 4)
inputs = torch.ones(1, 2)
loss = router(inputs).sum() + experts[rank](inputs).sum()
loss.backward()
for parameter in [*experts.parameters(), *router.parameters()]:
    if parameter.grad is not None:
        dist.all_reduce(parameter.grad)  # here 0
print("result", router.bias.grad.tolist())
dist.destroy_process_group()
