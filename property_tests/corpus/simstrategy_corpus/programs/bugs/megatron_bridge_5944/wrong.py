"""A sampler that shuffles each epoch and shares it out over data-parallel ranks in micro-batches."""

import torch
import torch.distributed as dist

ROWS, MICRO_BATCH, STEPS = 10, 2, 4


def batches(rank, world):
    """Yields the row numbers [MICRO_BATCH] of a rank, epoch after epoch."""
    epoch = 0
    active = ROWS - ROWS % (MICRO_BATCH * world)
    while True:
        order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(epoch))
        mine = order[rank::world]
        for begin in range(0, len(mine) - MICRO_BATCH + 1, MICRO_BATCH):
            yield mine[begin : begin + MICRO_BATCH]
        epoch += 1


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    rows = torch.linspace(-1.0, 1.0, ROWS)
    repeated, seen = torch.zeros(()), batches(rank, world)
    for _ in range(STEPS):
        mine = next(seen)
        parts = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(parts, mine.contiguous())
        numbers = torch.cat(parts)
        repeated += len(numbers) - len(numbers.unique())
        total = rows[mine].sum()
        dist.all_reduce(total)
    if rank == 0:
        print("result repeated", repeated.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
