"""Skips a micro-batch in which no sample is long enough."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LENGTHS = [[5, 3, 6, 4], [4, 1, 5, 3]]


class NoValidAnchorsError(ValueError):
    """No sample of a micro-batch can be used."""


def loss_of(model, sample):
    if len(sample) < 2:
        raise NoValidAnchorsError
    return model(sample).square().mean()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(54)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for length in LENGTHS[rank % 2]:
        is_long = torch.tensor(float(length >= 2))
        dist.all_reduce(is_long, op=dist.ReduceOp.MIN)
        if not is_long:
            continue
        loss = loss_of(model, torch.ones(length, 3) * (rank % 2 + 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()
    if rank == 0:
        print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
