"""A moving average of a model, with a buffer that counts what a rank has seen."""

import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Detector(torch.nn.Module):
    """A layer, and a running mean of its inputs."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 1)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, images):
        self.seen.mul_(0.9).add_(images.mean(0), alpha=0.1)
        return self.layer(images)


def update(average, model, decay=0.5):
    """Moves the average towards the model."""
    with torch.no_grad():
        for name, value in model.state_dict().items():
            average.state_dict()[name].lerp_(value, 1 - decay)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(32)
    images = torch.randn(12, 3)
    model = DistributedDataParallel(Detector())
    average = copy.deepcopy(model.module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(images[rank::world]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update(average, model.module)
    print(f"rank {rank} seen", *average.seen.tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
