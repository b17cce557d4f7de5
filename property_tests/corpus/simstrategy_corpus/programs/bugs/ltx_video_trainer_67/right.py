"""A linear learning rate behind a wrapper that steps for all ranks."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = 8


class PreparedScheduler:
    """Steps a scheduler once for each rank: its length counts batches of all ranks."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def step(self):
        for _ in range(dist.get_world_size()):
            self.scheduler.step()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(31)
    inputs = torch.randn(8, 3)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    length = STEPS * world
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=length)
    scheduler = PreparedScheduler(schedule)
    for _ in range(STEPS):
        loss = (model(inputs.chunk(world)[rank]) - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    if rank == 0:
        print("result rate", optimizer.param_groups[0]["lr"])
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
