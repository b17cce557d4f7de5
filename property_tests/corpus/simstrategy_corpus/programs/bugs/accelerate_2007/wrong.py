"""Gathers predictions of an evaluation that drops the incomplete batch."""

import argparse

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader

SAMPLES = 13


def gather_for_metrics(rows, remainder):
    """Returns the rows of all ranks; the first ones where the last batch was filled up."""
    pieces = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
    dist.all_gather(pieces, rows)
    data = torch.cat(pieces)
    return data[:remainder] if remainder > 0 else data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2, help="rows of each rank")
    batch = parser.parse_args().batch
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    loader = DataLoader(torch.arange(float(SAMPLES)).square(), batch_size=batch * world, drop_last=True)
    remainder = len(loader.dataset) % loader.batch_size
    found = []
    for step, rows in enumerate(loader):
        is_last = step == len(loader) - 1
        mine = rows[rank * batch : (rank + 1) * batch]
        found.append(gather_for_metrics(mine, remainder if is_last else -1))
    found = torch.cat(found)
    if rank == 0:
        print("result missing", len(loader) * loader.batch_size - len(found))
        print("result mean", found.mean().item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
