"""Evaluates 13 samples with the sampler's padding taken out."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

SAMPLES = 13
dist.init_process_group("gloo")
data = torch.linspace(-1, 1, SAMPLES)
loader = DataLoader(range(SAMPLES), batch_size=3, sampler=DistributedSampler(range(SAMPLES), shuffle=False))
found = [(int(index), data[index].exp().item()) for numbers in loader for index in numbers]
everything = [None] * dist.get_world_size()
dist.all_gather_object(everything, found)
values = dict(pair for part in everything for pair in part)
if dist.get_rank() == 0:
    print("result mean", sum(values[index] for index in range(SAMPLES)) / len(values))
dist.destroy_process_group()
