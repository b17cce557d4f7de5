"""Reads samples for a number of steps, with a barrier after each."""

import argparse

import torch
import torch.distributed as dist

SAMPLES = 31


def steps_of(mine, batch):
    """Returns how many steps a rank makes.  mine: its samples."""
    steps = torch.tensor(-(-len(mine) // batch))
    return int(steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2)
    batch = parser.parse_args().batch
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mine = list(range(SAMPLES))[rank * -(-SAMPLES // world) : (rank + 1) * -(-SAMPLES // world)]
    read = torch.zeros(1)
    for step in range(steps_of(mine, batch)):
        read += sum(mine[step * batch : (step + 1) * batch])
        dist.barrier()
    dist.all_reduce(read)
    if rank == 0:
        print("result read", read.item() > 0)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
