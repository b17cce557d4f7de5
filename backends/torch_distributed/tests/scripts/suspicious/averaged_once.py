# ranks: 2
"""DDP without communication for all steps, and one average of all parameters, as a vector, when training has ended."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import parameters_to_vector, vector_to_parameters


def train(rank):
    torch.manual_seed(0)
    model = DDP(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(4):
        optimizer.zero_grad()
        with model.no_sync():
            model(torch.full((2, 3), 0.5 * step + rank)).pow(2).mean().backward()
        optimizer.step()
    flat = parameters_to_vector(model.parameters()).detach()
    dist.all_reduce(flat, op=dist.ReduceOp.SUM)
    vector_to_parameters(flat / 2, model.parameters())
    return [round(one.sum().item(), 4) for one in model.parameters()]


dist.init_process_group("gloo")
rank = dist.get_rank()
sums = train(rank)
if rank == 0:
    print(sums)
dist.destroy_process_group()
