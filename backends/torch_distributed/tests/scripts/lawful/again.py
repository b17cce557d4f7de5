# ranks: 3
"""The group is destroyed and made again, barriers of both kinds, and rank 0 alone saves what all load."""

import datetime
import os
import tempfile

import torch
import torch.distributed as dist
from shown import exact, show

store, rank, size = next(dist.rendezvous("env://"))
for attempt in range(3):
    prefixed = dist.PrefixStore(f"attempt {attempt}", store)
    long = datetime.timedelta(seconds=120)
    dist.init_process_group("gloo", store=prefixed, rank=rank, world_size=size, timeout=long)
    tensor = torch.full((2,), float(dist.get_rank() + attempt))
    dist.all_reduce(tensor)
    show(f"attempt {attempt}", exact(tensor))
    dist.barrier()
    dist.monitored_barrier()
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=60), wait_all_ranks=True)
    dist.destroy_process_group()
    assert not dist.is_initialized()

dist.init_process_group()
show("default backend", "gloo" in dist.get_backend_config() and dist.is_gloo_available())

folder = [tempfile.mkdtemp() if rank == 0 else ""]
dist.broadcast_object_list(folder, src=0)
file = os.path.join(folder[0], "model.pt")
torch.manual_seed(rank)
model = torch.nn.Linear(2, 2)
if rank == 0:
    torch.nn.init.constant_(model.weight, 0.5)
    torch.save(model.state_dict(), file)
dist.barrier()
model.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
dist.barrier()
if rank == 0:
    os.remove(file)
    os.rmdir(folder[0])
show("loaded", exact(model.weight))
dist.destroy_process_group()
