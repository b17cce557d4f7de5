# ranks: 2
"""fully_shard on each layer and on the whole, mixed precision, clipping, AdamW, and the full state."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


def build(mesh, policy):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(6, 10), torch.nn.GELU(), torch.nn.Linear(10, 10), torch.nn.LayerNorm(10), torch.nn.Linear(10, 3)
    )
    for layer in model:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh, mp_policy=policy)
    return fully_shard(model, mesh=mesh, mp_policy=policy)


def train(model, rank):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    random = torch.Generator().manual_seed(rank)
    losses = []
    for step in range(4):
        model.set_requires_gradient_sync(step != 1)
        inputs = torch.randn(4, 6, generator=random)
        loss = torch.nn.functional.cross_entropy(model(inputs).float(), inputs[:, :3].argmax(1))
        loss.backward()
        if step != 1:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
    return losses, norm.full_tensor()


def main():
    mesh = init_device_mesh("cpu", (2,))
    rank = dist.get_rank()
    for name, policy, digits in (
        ("float32", MixedPrecisionPolicy(), 4),
        ("bfloat16", MixedPrecisionPolicy(torch.bfloat16, torch.float32), 1),
    ):
        model = build(mesh, policy)
        losses, norm = train(model, rank)
        show(f"{name}: losses", rounded(losses, digits))
        show(f"{name}: norm", rounded(norm, digits))
        show(f"{name}: shards", [list(one.to_local().shape) for one in model.parameters()])
        full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
        show(f"{name}: whole", {key: rounded(value.float().sum(), digits) for key, value in full.items()})
    dist.destroy_process_group()


main()
