"""Sums losses over tokens, and divides by the tokens of all ranks and micro-batches."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

IGNORED = -100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=1)
    steps = parser.parse_args().accumulate
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(61)
    states, labels = torch.randn(8, 5, 4), torch.randint(6, (8, 5))
    for row in range(8):
        labels[row, 1 + row % 4 :] = IGNORED
    mine, wanted = states.chunk(world)[rank], labels.chunk(world)[rank]
    model = DistributedDataParallel(torch.nn.Linear(4, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.4)
    for _ in range(3):
        tokens = (wanted != IGNORED).sum()
        dist.all_reduce(tokens)
        for inputs, targets in zip(mine.chunk(steps), wanted.chunk(steps), strict=True):
            logits = model(inputs).flatten(0, 1)
            loss = cross_entropy(logits, targets.flatten(), ignore_index=IGNORED, reduction="sum")
            (loss * world / tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
    if rank == 0:
        print("result bias", *model.module.bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
