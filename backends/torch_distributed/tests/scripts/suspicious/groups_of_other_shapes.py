# ranks: 4
"""Two model-parallel groups add tensors of other shapes, dtypes and counts at the same line."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
mine = rank // 2
layers = (
    [torch.full((3, 2), 1.0 + rank)]
    if mine == 0
    else [torch.full((one + 1,), rank, dtype=torch.int64) for one in range(4)]
)
for layer in layers:
    dist.all_reduce(layer, op=dist.ReduceOp.SUM if mine == 0 else dist.ReduceOp.MAX, group=groups[mine])
if mine == 0:
    dist.broadcast(layers[0], src=1, group=groups[0])
else:
    dist.barrier(group=groups[1])
reports = [None] * 4
dist.all_gather_object(reports, [one.tolist() for one in layers])
if rank == 0:
    print(*reports, sep="\n")
dist.destroy_process_group()
