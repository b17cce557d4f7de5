# ranks: 2
"""ZeroRedundancyOptimizer beside Adam: equal parameters, and the state collected on one rank."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP


def build():
    torch.manual_seed(2)
    return DDP(torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)))


dist.init_process_group("gloo")
rank = dist.get_rank()
sharded, whole = build(), build()
optimizer = ZeroRedundancyOptimizer(sharded.parameters(), optimizer_class=torch.optim.Adam, lr=0.05)
reference = torch.optim.Adam(whole.parameters(), lr=0.05)
random = torch.Generator().manual_seed(10 + rank)
for step in range(4):
    inputs = torch.randn(5, 4, generator=random)
    for model, stepper in ((sharded, optimizer), (whole, reference)):
        stepper.zero_grad()
        model(inputs).pow(2).mean().backward()
        stepper.step()
    show(f"step {step}", rounded([one.sum() for one in sharded.parameters()]))
pairs = zip(sharded.parameters(), whole.parameters(), strict=True)
show("as Adam", all(torch.allclose(one, other, atol=1e-6) for one, other in pairs))
show("kept here", len(optimizer.optim.state))
optimizer.consolidate_state_dict(to=1)
if rank == 1:
    state = optimizer.state_dict()
    found = [rounded(state["state"][key]["exp_avg"].sum()) for key in sorted(state["state"])]
show("collected", found if rank == 1 else "elsewhere")
dist.destroy_process_group()
