# ranks: 3
"""Rank 0 prepares data for two seconds while the others wait for a key or poll for a file, before any collective."""

import os
import time

import torch
import torch.distributed as dist

store, rank, size = next(dist.rendezvous("env://"))
if rank == 0:
    time.sleep(2)
    torch.save(torch.arange(6.0), "data.part")
    os.rename("data.part", "data.pt")
    store.set("prepared", "6 rows")
elif rank == 1:
    store.wait(["prepared"])
else:
    while not os.path.exists("data.pt"):
        time.sleep(0.05)
data = torch.load("data.pt", weights_only=True)
text = store.get("prepared").decode()
dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank, world_size=size)
total = data[rank::size].sum()
dist.all_reduce(total)
if rank == 0:
    print(text, total.item())
dist.barrier()
dist.destroy_process_group()
