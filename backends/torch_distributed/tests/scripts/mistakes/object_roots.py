# ranks: 2
"""Each rank broadcasts its own settings."""

import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
settings = [{"rate": 0.1, "steps": 10}] if rank == 0 else [{"rate": 0.2}]
dist.broadcast_object_list(settings, src=rank)  # here 0
print("result", settings)
dist.destroy_process_group()
