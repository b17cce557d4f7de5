"""Accumulates gradients, and leaves out the reduction in all batches of a step but one."""

import argparse
import contextlib

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

ROWS = 12


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accum-grad", type=int, default=1)
    accum_grad = parser.parse_args().accum_grad
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(41)
    speech, texts = torch.randn(ROWS, 4), torch.randn(ROWS, 2)
    mine = slice(rank, None, world)
    model = DistributedDataParallel(torch.nn.Linear(4, 2))
    optim = torch.optim.SGD(model.parameters(), lr=0.2)
    for _ in range(3):
        batches = list(zip(speech[mine].chunk(accum_grad), texts[mine].chunk(accum_grad), strict=True))
        for batch_idx, (inputs, targets) in enumerate(batches):
            is_synchronised = (batch_idx + 1) % accum_grad == 0
            context = contextlib.nullcontext() if is_synchronised else model.no_sync()
            with context:
                loss = (model(inputs) - targets).square().mean() / accum_grad
                loss.backward()
            if (batch_idx + 1) % accum_grad == 0:
                optim.step()
                optim.zero_grad()
    weight = model.module.weight.flatten().tolist()
    print(f"rank {rank} weight", *weight, flush=True)
    if rank == 0:
        print("result weight", *weight)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
