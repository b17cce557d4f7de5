"""Skips a batch whose loss is not finite; the decision is made once and sent to all ranks."""

import torch
import torch.distributed as dist

BATCHES = 5


def is_skipped(loss):
    """Returns whether all ranks skip the batch."""
    found = torch.tensor(float(not loss.isfinite()))
    dist.broadcast(found, src=0)
    return bool(found)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(53)
    fields = torch.randn(BATCHES, 4, 3)
    fields[2, 3, 0] = torch.nan
    weight = torch.zeros(3)
    for batch in fields:
        mine = batch.chunk(world)[rank]
        loss = (weight - mine).square().mean()
        if is_skipped(loss):
            continue
        gradient = (weight - mine).mean(0)
        dist.all_reduce(gradient)
        weight -= 0.1 * gradient / world
    if rank == 0:
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
