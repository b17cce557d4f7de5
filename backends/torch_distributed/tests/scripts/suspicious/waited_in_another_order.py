# ranks: 3
"""Handles are waited for in another order on each rank, twice, late, and results are used between."""

import random

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
tensors = [torch.full((number + 1,), float(rank + number)) for number in range(6)]
handles = [dist.all_reduce(one, async_op=True) for one in tensors]
assert [one.shape[0] for one in tensors] == [1, 2, 3, 4, 5, 6]  # a shape is no result
order = list(range(6))
random.Random(rank).shuffle(order)
for number in order:
    handles[number].wait()
    assert tensors[number][0] == 3 + 3 * number
handles[0].wait()
future = dist.broadcast(tensors[5], src=2, async_op=True).get_future()
other = torch.tensor(1.0)
dist.all_reduce(other)  # begins and ends while the broadcast is not waited for
future.wait()
orders = [None] * 3
dist.all_gather_object(orders, order)
if rank == 0:
    print(*orders, sep="\n")
    print([one.tolist() for one in tensors], other.item())
dist.destroy_process_group()
