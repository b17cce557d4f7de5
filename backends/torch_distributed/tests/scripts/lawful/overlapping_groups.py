# ranks: 4
"""Groups that share ranks, groups of one rank, sub-groups of a size, and roots by rank of the group."""

import torch
import torch.distributed as dist
from shown import exact, show

dist.init_process_group("gloo")
rank = dist.get_rank()

groups = {ranks: dist.new_group(list(ranks)) for ranks in ((0, 1, 2), (1, 2, 3), (3, 0), (2,))}
for ranks, group in groups.items():
    tensor = torch.full((2,), 2.0**rank)
    if rank in ranks:
        dist.all_reduce(tensor, group=group)
    show(f"sum in {ranks}", f"{exact(tensor)} {dist.get_rank(group)} {dist.get_world_size(group)}")

middle = groups[1, 2, 3]
tensor = torch.tensor([float(rank)])
if rank in (1, 2, 3):
    dist.broadcast(tensor, src=3, group=middle)
    translated = [dist.get_group_rank(middle, other) for other in (1, 2, 3)]
    back = [dist.get_global_rank(middle, other) for other in range(3)]
    show_me = f"{exact(tensor)} {translated} {back} {dist.get_process_group_ranks(middle)}"
else:
    show_me = middle is dist.GroupMember.NON_GROUP_MEMBER
show("broadcast from 3", show_me)
if rank in (1, 2, 3):
    dist.broadcast(tensor.fill_(rank), group=middle, group_src=1)
    parts = [torch.empty(1) for _ in range(3)] if rank == 1 else None
    dist.gather(tensor, parts, group=middle, group_dst=0)
show("broadcast from the group's 1", exact(tensor))

own, both = dist.new_subgroups(2)
total = torch.tensor([rank + 1])
dist.all_reduce(total, group=own)
show("halves", f"{total.tolist()} {len(both)}")
columns, _ = dist.new_subgroups_by_enumeration([[0, 2], [1, 3]])
dist.all_reduce(total, op=dist.ReduceOp.PRODUCT, group=columns)
show("columns of halves", total.tolist())

everyone = dist.new_group()
dist.barrier(group=everyone)
work = dist.all_reduce(total, group=everyone, async_op=True)
work.wait()
show("everyone", total.tolist())
dist.destroy_process_group(own)
show("the world is still there", dist.get_world_size())
dist.destroy_process_group()
