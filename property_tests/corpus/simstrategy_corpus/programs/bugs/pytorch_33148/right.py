"""An epoch over shards of different lengths, under DDP."""

import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(24)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = torch.randn(5 if rank == 0 else 4, 2, 3, generator=torch.Generator().manual_seed(rank))
    with contextlib.ExitStack() as stack:
        stack.enter_context(model.join())
        for batch in batches:
            loss = model(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    weight = model.module.weight.detach().flatten()
    print(f"rank {rank} weight", *weight.tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
