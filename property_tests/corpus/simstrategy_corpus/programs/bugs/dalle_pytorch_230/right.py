"""Trains over several epochs with a shuffling sampler."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

IMAGES, EPOCHS = 24, 3


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(46)
    data = TensorDataset(torch.arange(IMAGES), torch.randn(IMAGES, 3))
    data_sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=4, sampler=data_sampler)
    dalle = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(dalle.parameters(), lr=0.01)
    for epoch in range(EPOCHS):
        data_sampler.set_epoch(epoch)
        order = []
        for numbers, images in loader:
            loss = dalle(images).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            order += numbers.tolist()
        if dist.get_rank() == 0:
            print(f"epoch {epoch} order", *order)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
