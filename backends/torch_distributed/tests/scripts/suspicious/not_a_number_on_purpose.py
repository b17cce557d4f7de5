# ranks: 2
"""NaN and infinity are data: masks, identities of a minimum, missing values that are gathered and counted."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
least = torch.full((3,), float("inf"))
if rank == 1:
    least[1] = 2.0
dist.all_reduce(least, op=dist.ReduceOp.MIN)
scores = torch.tensor([1.0, float("nan")]) if rank == 0 else torch.tensor([float("nan"), float("nan")])
parts = [torch.full((2,), float("nan")) for _ in range(2)]
work = dist.all_gather(parts, scores, async_op=True)
work.wait()
counted = torch.cat(parts).isfinite().sum()
smallest = torch.tensor([torch.iinfo(torch.int64).min])
dist.broadcast(smallest, src=1, async_op=True).wait()
loss = torch.tensor(float("nan") if rank else 1.0)
dist.all_reduce(loss)
if rank == 0:
    print(least.tolist(), torch.cat(parts).tolist(), counted.item(), smallest.item(), loss.item())
dist.destroy_process_group()
