# ranks: 3
"""The root and the others make the same call at different lines, at different depth, with different arguments."""

import torch
import torch.distributed as dist


def deep(levels, call):
    return call() if levels == 0 else deep(levels - 1, call)


dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
mine = torch.tensor([rank, rank * rank])
if rank == 0:
    parts = [torch.empty_like(mine) for _ in range(size)]
    dist.gather(mine, gather_list=parts, dst=0)
    print(torch.stack(parts).tolist())
else:
    deep(rank, lambda: dist.gather(mine, dst=0))
if rank == 1:
    dist.scatter(mine, [torch.tensor([one, -one]) for one in range(size)], src=1)
else:
    dist.scatter(mine, src=1)
if rank == 2:
    dist.all_reduce(mine)
    total = mine
elif rank == 1:
    total = mine.clone()
    handle = dist.all_reduce(total, dist.ReduceOp.SUM, None, True)
    handle.wait()
else:
    total = mine
    deep(5, lambda: dist.all_reduce(tensor=total, op=dist.ReduceOp.SUM, group=dist.group.WORLD))
(dist.barrier if rank else lambda: dist.barrier(group=dist.group.WORLD))()
if rank == 0:
    print(total.tolist())
dist.destroy_process_group()
