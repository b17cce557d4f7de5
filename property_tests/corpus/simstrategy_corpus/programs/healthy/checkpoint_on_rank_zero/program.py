"""Writes a checkpoint on rank 0 and reads it everywhere."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(46)
model = torch.nn.Linear(3, 2)
if rank == 0:
    torch.save(model.state_dict(), "checkpoint.pt")
dist.barrier()
with torch.no_grad():
    model.weight.zero_()
model.load_state_dict(torch.load("checkpoint.pt"))
total = model.weight.detach().sum()
dist.all_reduce(total, op=dist.ReduceOp.MAX)
if rank == 0:
    print("result total", total.item())
dist.destroy_process_group()
