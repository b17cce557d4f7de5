"""Evaluates with DistributedSampler, as the documentation of PyTorch shows it for training."""

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
labels = torch.tensor([1.0, 0.0, 1.0, 1.0, 0.0])
dataset = TensorDataset(labels)
loader = DataLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset, shuffle=False))
right = torch.zeros(2)
for (batch,) in loader:
    right += torch.stack([batch.sum(), torch.tensor(float(len(batch)))])
dist.all_reduce(right)
if dist.get_rank() == 0:
    print("result accuracy", (right[0] / right[1]).item())
dist.destroy_process_group()
