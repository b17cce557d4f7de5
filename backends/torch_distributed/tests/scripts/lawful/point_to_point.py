# ranks: 3
"""send and recv, isend and irecv, tags received in another order, any source, sub-groups."""

import torch
import torch.distributed as dist
from shown import exact, show

dist.init_process_group("gloo")
rank = dist.get_rank()

buffer = torch.zeros(4)
if rank == 0:
    dist.send(torch.arange(4.0), dst=1)
elif rank == 1:
    source = dist.recv(buffer, src=0)
    dist.send(buffer * 2, dst=2)
else:
    source = dist.recv(buffer, src=1)
show("passed on", exact(buffer))

first, second = torch.zeros(2, dtype=torch.int64), torch.zeros(3, dtype=torch.bfloat16)
if rank == 0:
    works = [dist.isend(torch.tensor([1, 2]), 1, tag=11), dist.isend(torch.ones(3, dtype=torch.bfloat16), 1, tag=22)]
elif rank == 1:
    works = [dist.irecv(second, 0, tag=22), dist.irecv(first, 0, tag=11)]
else:
    works = []
for work in works:
    work.wait()
show("tags", f"{exact(first)} {exact(second)}")

if rank == 0:
    seen = {}
    for _ in range(2):
        value = torch.zeros(1)
        seen[dist.recv(value)] = value.item()
    line = f"from any source {sorted(seen.items())}"
else:
    dist.send(torch.tensor([10.0 * rank]), dst=0)
    line = "sent"
show("any source", line)

pair = dist.new_group([2, 0])
number = torch.tensor([rank], dtype=torch.int32)
if rank == 0:
    dist.send(number, group=pair, group_dst=dist.get_group_rank(pair, 2))
elif rank == 2:
    dist.recv(number, src=0, group=pair)
show("in a pair", exact(number))

ping = torch.zeros(1)
for turn in range(5):
    if rank == turn % 2:
        dist.send(ping + 1, dst=1 - rank)
    elif rank < 2:
        dist.recv(ping, src=1 - rank)
show("five turns", exact(ping))
dist.destroy_process_group()
