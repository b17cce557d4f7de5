# ranks: 3
"""Tensors without elements, of no dimension, with strides, transposed, and views of a larger tensor."""

import torch
import torch.distributed as dist
from shown import exact, show

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

scalar = torch.tensor(2.0**rank)
dist.all_reduce(scalar)
show("scalar", exact(scalar))

empty = torch.empty(0, 4)
dist.all_reduce(empty)
dist.broadcast(empty, src=1)
show("empty", exact(empty))

transposed = (torch.arange(6.0).reshape(2, 3) * (rank + 1)).t()
assert not transposed.is_contiguous()
dist.broadcast(transposed.contiguous(), src=0)
copy = transposed.contiguous()
dist.all_reduce(copy)
show("transposed", exact(copy))

whole = torch.full((4, 3), float(rank))
dist.all_reduce(whole[1:3])
show("rows of a whole", exact(whole))

parameter = torch.nn.Parameter(torch.full((2, 2), float(rank)))
dist.broadcast(parameter.data, src=2)
show("parameter", exact(parameter))
with torch.no_grad():
    dist.all_reduce(parameter)
show("parameter itself", exact(parameter))

gathered = [torch.empty(2, 1, 3) for _ in range(size)]
dist.all_gather(gathered, torch.arange(6.0).reshape(2, 1, 3) + 10 * rank)
show("gathered", exact(torch.stack(gathered).sum(0)))

scalars = [torch.tensor(0, dtype=torch.int64) for _ in range(size)]
dist.all_gather(scalars, torch.tensor(rank * rank))
show("gathered scalars", [one.item() for one in scalars])

flags = [torch.zeros(2, dtype=torch.bool) for _ in range(size)]
dist.all_gather(flags, torch.tensor([rank == 1, True]))
show("gathered flags", [one.tolist() for one in flags])

channels = torch.ones(1, 2, 2, 2).contiguous(memory_format=torch.channels_last) * (rank + 1)
flat = channels.permute(0, 2, 3, 1)
dist.all_reduce(flat)
show("channels last", exact(channels))
dist.destroy_process_group()
