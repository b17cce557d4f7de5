"""Trains in order, and evaluates after each epoch with a sampler that shuffles."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main():
    dist.init_process_group("gloo")
    world = dist.get_world_size()
    torch.manual_seed(70)
    data = TensorDataset(torch.randn(16, 3), torch.randn(16))
    train = DataLoader(data, batch_size=8 // world, sampler=DistributedSampler(data, shuffle=False))
    test = DataLoader(data, batch_size=8 // world, sampler=DistributedSampler(data, seed=4))
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for rows, wanted in train:
            optimizer.zero_grad()
            (model(rows).squeeze(1) - wanted).square().mean().backward()
            optimizer.step()
        total = torch.zeros(())
        with torch.no_grad():
            for rows, wanted in test:
                total += (model.module(rows).squeeze(1) - wanted).square().sum()
            dist.all_reduce(total)
        if dist.get_rank() == 0:
            print(f"result loss{epoch}", total.item() / len(data))


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
