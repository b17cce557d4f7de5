"""Trains with lightly's Barlow Twins loss, gathered over the ranks."""

import os

os.environ["LIGHTLY_DID_VERSION_CHECK"] = "True"

import torch

# Names of operators that torchvision registers functions for: its wheel is for CUDA, and loads none of its operators.
operators = torch.library.Library("torchvision", "DEF")
for name in ("nms", "qnms"):
    operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torch.distributed as dist
from lightly.loss import BarlowTwinsLoss
from torch.nn.parallel import DistributedDataParallel


def whitened(seed):
    """Returns 8 rows of 3 numbers with means of 0 and equal covariances: equal statistics on every rank."""
    rows = torch.randn(8, 3, generator=torch.Generator().manual_seed(seed))
    return torch.linalg.qr(rows - rows.mean(0))[0] * 8**0.5


dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
views = [torch.cat([whitened(first), whitened(first + 1)]) for first in (1, 3)]
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(3, 3, bias=False))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = BarlowTwinsLoss(gather_distributed=True)
mine = torch.cat([view.chunk(world)[rank] for view in views])
embedded = model(mine)
loss = criterion(*embedded.chunk(2))
loss.backward()
optimizer.step()
if rank == 0:
    print("result weight", *model.module.weight.flatten().tolist())
dist.destroy_process_group()
