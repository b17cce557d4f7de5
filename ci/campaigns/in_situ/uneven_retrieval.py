"""Measures a retrieval with torchmetrics, where one rank has a batch more."""

import torch
import torch.distributed as dist
from torchmetrics.retrieval import RetrievalMAP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
scores = torch.tensor([[0.2, 0.3, 0.5, 0.1], [0.1, 0.9, 0.4, 0.6], [0.7, 0.2, 0.8, 0.3]])
relevant = torch.tensor([[0, 1, 0, 1], [1, 0, 0, 1], [0, 1, 1, 0]]).bool()
metric = RetrievalMAP()
for query in range(rank, len(scores), world):
    metric.update(scores[query], relevant[query], indexes=torch.full((4,), query))
found = metric.compute()
if rank == 0:
    print("result precision", found.item())
dist.destroy_process_group()
