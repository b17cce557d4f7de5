# ranks: 2
"""torch.distributed.checkpoint: sharded and plain values saved by all ranks, loaded with another placement."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoint
from shown import exact, rounded, show
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

mesh = init_device_mesh("cpu", (2,))
rank = dist.get_rank()
folder = [tempfile.TemporaryDirectory() if rank == 0 else None]
path = [folder[0].name if rank == 0 else None]
dist.broadcast_object_list(path)

saved = {
    "sharded": distribute_tensor(torch.arange(10.0).reshape(5, 2), mesh, [Shard(0)]),
    "plain": torch.ones(3),
    "n": 7,
}
checkpoint.save(saved, checkpoint_id=f"{path[0]}/one")
loaded = {"sharded": distribute_tensor(torch.zeros(5, 2), mesh, [Shard(1)]), "plain": torch.zeros(3), "n": 0}
checkpoint.load(loaded, checkpoint_id=f"{path[0]}/one")
show("columns of rows", exact(loaded["sharded"].to_local()))
show("plain", f"{exact(loaded['plain'])} {loaded['n']}")
whole = {"sharded": distribute_tensor(torch.zeros(5, 2), mesh, [Replicate()])}
checkpoint.load(whole, checkpoint_id=f"{path[0]}/one")
show("whole", exact(whole["sharded"].to_local()))


def build(seed):
    torch.manual_seed(seed)
    model = fully_shard(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)), mesh=mesh)
    return model, torch.optim.Adam(model.parameters(), lr=0.1)


def steps(model, optimizer, count):
    for number in range(count):
        model(torch.full((2, 3), float(rank + number))).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()


model, optimizer = build(0)
steps(model, optimizer, 2)
state = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer), strict=True))
checkpoint.save(state, checkpoint_id=f"{path[0]}/two")
again, its_optimizer = build(1)
state = dict(zip(("model", "optimizer"), get_state_dict(again, its_optimizer), strict=True))
checkpoint.load(state, checkpoint_id=f"{path[0]}/two")
set_state_dict(again, its_optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
steps(model, optimizer, 2)
steps(again, its_optimizer, 2)
equal = [torch.equal(a.to_local(), b.to_local()) for a, b in zip(model.parameters(), again.parameters(), strict=True)]
show("resumed", f"{equal} {rounded([one.to_local().sum() for one in again.parameters()])}")
dist.barrier()
dist.destroy_process_group()
