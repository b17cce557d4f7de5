# ranks: 4
"""Each rank sends another number of messages; one neither sends nor receives any."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
edges = [(0, 1), (0, 1), (0, 2), (1, 2), (0, 1), (2, 0)]  # rank 3 has none
received = []
for number, (source, target) in enumerate(edges):
    if rank == source:
        dist.send(torch.full((number + 1,), float(number)), dst=target, tag=number)
    if rank == target:
        message = torch.empty(number + 1)
        dist.recv(message, src=source, tag=number)
        received.append((source, message.sum().item()))
lists = [None] * 4 if rank == 0 else None
dist.gather_object(received, lists, dst=0)
if rank == 0:
    print(*lists, sep="\n")
dist.destroy_process_group()
