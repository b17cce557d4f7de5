"""Warms a learning rate up, with a loader that is split over the ranks."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, WARMUP = 6, 4


class AcceleratedScheduler:
    """Makes the steps that one process would have made for the same samples."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def step(self):
        num_processes = dist.get_world_size()
        for _ in range(num_processes):
            self.scheduler.step()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(45)
    latents, noise = torch.randn(8, 4), torch.randn(8, 4)
    unet = DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(unet.parameters(), lr=0.4)
    warmup = WARMUP
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step // world + 1) / warmup))
    lr_scheduler = AcceleratedScheduler(scheduler)
    for _ in range(STEPS):
        loss = (unet(latents.chunk(world)[rank]) - noise.chunk(world)[rank]).square().mean()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
    if rank == 0:
        print("result bias", *unet.module.bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
