"""Accumulates gradients and synchronises them in the last micro-step."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

BATCH = 12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--grad-accum-steps", type=int, default=1)
    steps = parser.parse_args().grad_accum_steps
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1337)
    tokens = torch.randint(9, (BATCH, 5))
    model = torch.nn.Sequential(torch.nn.Embedding(9, 6), torch.nn.Linear(6, 9))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for _ in range(4):
        optimizer.zero_grad()
        for micro_step, ids in enumerate(tokens.chunk(world)[rank].chunk(steps)):
            model.require_backward_grad_sync = micro_step == steps - 1
            logits = model(ids[:, :-1])
            loss = cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()) / steps
            loss.backward()
        optimizer.step()
    bias = model.module[1].bias.tolist()
    print(f"rank {rank} bias", *bias, flush=True)
    if rank == 0:
        print("result bias", *bias)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
