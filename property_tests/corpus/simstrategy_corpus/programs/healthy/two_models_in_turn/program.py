"""Trains a generator and a discriminator in turn."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(73)
    noise, real = (torch.randn(8, 3).chunk(world)[rank] for _ in range(2))
    maker, judge = (DistributedDataParallel(torch.nn.Linear(3, size)) for size in (3, 1))
    steps = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (maker, judge)]
    for _ in range(3):
        steps[1].zero_grad()
        difference = judge(real).mean() - judge(maker(noise).detach()).mean()
        difference.backward()
        steps[1].step()
        steps[0].zero_grad()
        judge.requires_grad_(False)
        (-judge.module(maker(noise))).mean().backward()
        judge.requires_grad_(True)
        steps[0].step()
    if rank == 0:
        print("result maker", *maker.module.bias.tolist())
        print("result judge", *judge.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
