# ranks: 3
"""Each rank has its own expert with its own weights; tokens go there and back, in numbers that depend on the data."""

import torch
import torch.distributed as dist


def swap(rows, sends):
    """Returns the rows that all ranks have for this one, and how many each sent."""
    receives = torch.empty_like(sends)
    dist.all_to_all_single(receives, sends)
    out = torch.empty(int(receives.sum()), rows.shape[1])
    dist.all_to_all_single(out, rows, receives.tolist(), sends.tolist())
    return out, receives


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)
expert = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(expert.parameters(), lr=0.1)
tokens = torch.randn(4 + rank, 2)
routes = torch.arange(4 + rank) * (rank + 1) % size if rank else torch.zeros(4, dtype=torch.int64)
order = routes.argsort(stable=True)
sends = torch.bincount(routes, minlength=size)
arrived, receives = swap(tokens[order], sends)
made = expert(arrived)
back, _ = swap(made.detach(), receives)
made.pow(2).mean().backward() if len(made) else made.sum().backward()
optimizer.step()
reports = [None] * size
dist.all_gather_object(reports, (sends.tolist(), receives.tolist(), round(back.sum().item(), 3)))
if rank == 0:
    print(*reports, sep="\n")
dist.destroy_process_group()
