# ranks: 3
"""DistributedDataParallel with many small buckets, views, a static graph, and BatchNorm's buffers."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.nn.parallel import DistributedDataParallel

OPTIONS = {
    "default": {},
    "small buckets": {"bucket_cap_mb": 0.0001},
    "views": {"gradient_as_bucket_view": True, "bucket_cap_mb": 0.0005},
    "static graph": {"static_graph": True, "bucket_cap_mb": 0.0005},
    "own buffers": {"broadcast_buffers": False},
}


def model_of(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(6, 16, bias=False),  # BatchNorm leaves of a bias nothing but rounding
        torch.nn.BatchNorm1d(16),
        torch.nn.ReLU(),
        torch.nn.Linear(16, 16),
        torch.nn.Linear(16, 1),
    )


def train(options, rank):
    """Returns the losses of a rank, and sums of its parameters and buffers."""
    model = DistributedDataParallel(model_of(seed=rank), **options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    random = torch.Generator().manual_seed(100 + rank)
    losses = []
    for _ in range(4):
        inputs = torch.randn(8, 6, generator=random)
        loss = (model(inputs) - inputs.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    inner = model.module
    return (
        rounded(losses),
        rounded([one.sum() for one in inner.parameters()]),
        rounded([b.sum() for b in inner.buffers()]),
    )


def main():
    dist.init_process_group("gloo")
    for name, options in OPTIONS.items():
        losses, parameters, buffers = train(options, dist.get_rank())
        show(f"{name}: losses", losses)
        show(f"{name}: parameters", parameters)
        show(f"{name}: buffers", buffers)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
