# ranks: 4
"""One group makes many collectives and another one; a rank in both interleaves them, others are in none."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
busy, calm = dist.new_group([0, 1]), dist.new_group([1, 2])
counter = torch.zeros(1)
for step in range(5):
    if rank in (0, 1):
        counter += 1
        dist.all_reduce(counter, group=busy)
    if rank in (1, 2) and step == 3:
        dist.broadcast(counter, src=1, group=calm)
counts = [torch.empty(1) for _ in range(4)]
dist.all_gather(counts, counter)
if rank == 0:
    print([one.item() for one in counts])
dist.destroy_process_group()
