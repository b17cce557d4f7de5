"""Measures the area under a curve with MONAI's handler; the ranks have different numbers of samples."""

import torch
import torch.distributed as dist
from ignite.engine import Engine
from monai.handlers import ROCAUC

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
scores = torch.tensor([0.1, 0.8, 0.3, 0.6, 0.9]).reshape(5, 1)
labels = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0]).reshape(5, 1)
batches = [(scores[number : number + 1], labels[number : number + 1]) for number in range(rank, 5, world)]
evaluator = Engine(lambda _engine, batch: batch)
ROCAUC().attach(evaluator, "area")
found = evaluator.run(batches).metrics["area"]
if rank == 0:
    print("result area", float(found))
dist.destroy_process_group()
