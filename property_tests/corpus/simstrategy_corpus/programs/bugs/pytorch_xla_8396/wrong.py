"""Each rank makes its model with the generator of its own process."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    data = torch.randn(12, 3, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(100 + rank)
    model = DistributedDataParallel(torch.nn.Linear(3, 2), init_sync=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = (model(data[rank::world]) - data[rank::world, :2]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"rank {rank} weight", *model.module.weight.flatten().tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
