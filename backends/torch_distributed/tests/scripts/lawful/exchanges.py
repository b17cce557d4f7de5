# ranks: 4
"""all_gather_into_tensor, reduce_scatter_tensor, all_to_all with equal and unequal splits, and their list forms."""

import torch
import torch.distributed as dist
from shown import exact, show

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

for dtype in (torch.float32, torch.bfloat16, torch.int8, torch.int64):
    mine = torch.tensor([[rank, 2 * rank]], dtype=dtype)
    whole = torch.empty(size, 2, dtype=dtype)
    dist.all_gather_into_tensor(whole, mine)
    show("all_gather_into_tensor", exact(whole))
joined = torch.empty(size * 3)
dist.all_gather_into_tensor(joined, torch.full((3,), float(rank)))
show("joined", exact(joined))

part = torch.empty(2)
dist.reduce_scatter_tensor(part, torch.arange(8.0) * (rank + 1))
show("reduce_scatter_tensor", exact(part))
dist.reduce_scatter_tensor(part, torch.arange(8.0) * (rank + 1), op=dist.ReduceOp.MAX)
show("reduce_scatter_tensor MAX", exact(part))
dist.reduce_scatter(part, [torch.tensor([1.0, float(one)]) * rank for one in range(size)])
show("reduce_scatter", exact(part))

equal = torch.empty(size, dtype=torch.int64)
dist.all_to_all_single(equal, torch.arange(size) + 10 * rank)
show("all_to_all_single", exact(equal))

# Rank r sends r + d + 1 rows to rank d modulo 3, none to some.
sends = [(rank + other) % 3 for other in range(size)]
receives = [(other + rank) % 3 for other in range(size)]
rows = torch.cat([torch.full((count, 2), 10.0 * rank + other) for other, count in enumerate(sends)])
received = torch.empty(sum(receives), 2)
work = dist.all_to_all_single(received, rows, receives, sends, async_op=True)
work.wait()
show("unequal splits", exact(received))

outputs = [torch.empty(2) for _ in range(size)]
dist.all_to_all(outputs, [torch.tensor([float(rank), other]) for other in range(size)])
show("all_to_all", [one.tolist() for one in outputs])

uneven = [torch.empty(other + 1) for other in range(size)]
works = [dist.broadcast(one.fill_(rank), src=other, async_op=True) for other, one in enumerate(uneven)]
for one in works:
    one.wait()
show("one broadcast for each", [one.tolist() for one in uneven])
dist.destroy_process_group()
