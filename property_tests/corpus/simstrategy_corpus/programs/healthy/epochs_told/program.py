"""Trains with another order in every epoch."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    torch.manual_seed(71)
    data = TensorDataset(torch.randn(16, 3), torch.randn(16))
    sampler = DistributedSampler(data, seed=2)
    loader = DataLoader(data, batch_size=8 // world, sampler=sampler)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for rows, wanted in loader:
            optimizer.zero_grad()
            (model(rows).squeeze(1) - wanted).square().mean().backward()
            optimizer.step()
    if dist.get_rank() == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
