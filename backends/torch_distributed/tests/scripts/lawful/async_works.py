# ranks: 4
"""Results that are waited for later: works in a list, futures with a next step, and calls in between."""

import torch
import torch.distributed as dist
from shown import exact, show

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()

tensors = [torch.full((3,), float(rank + number)) for number in range(5)]
works = [dist.all_reduce(one, async_op=True) for one in tensors]
for work in works:
    work.wait()
show("five at once", exact(torch.stack(tensors)))
show("completed", [work.is_completed() for work in works])

shared = torch.full((2,), 2.0**rank)
future = dist.all_reduce(shared, async_op=True).get_future()
halved = future.then(lambda done: done.value()[0] / 2)
show("a step after", exact(halved.wait()))

parts = [torch.empty(2) for _ in range(size)]
first = dist.all_gather(parts, torch.tensor([1.0, float(rank)]), async_op=True)
second = dist.broadcast(tensors[0], src=3, async_op=True)
third = dist.barrier(async_op=True)
third.wait()
second.wait()
first.wait()
show("gathered", exact(torch.stack(parts)))
show("broadcast", exact(tensors[0]))

whole = torch.empty(size)
works = [
    dist.all_gather_into_tensor(whole, torch.tensor([float(rank)]), async_op=True),
    dist.reduce(tensors[1], dst=2, async_op=True),
]
while not all(work.is_completed() for work in works):
    pass
for work in works:
    work.wait()
show("polled", exact(whole) + (exact(tensors[1]) if rank == 2 else ""))

piece = torch.empty(1)
dist.reduce_scatter_tensor(piece, torch.ones(size) * rank, async_op=True).wait()
show("piece", exact(piece))
dist.destroy_process_group()
