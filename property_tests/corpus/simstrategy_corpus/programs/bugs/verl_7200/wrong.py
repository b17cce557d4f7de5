"""Distils a teacher's distribution over sequences with response masks."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import kl_div
from torch.nn.parallel import DistributedDataParallel


def aggregate(losses, mask, global_batch_info):
    """Returns the token mean.  losses, mask: [rows, tokens]."""
    tokens = global_batch_info.get("batch_num_tokens")
    if tokens is None:
        return (losses * mask).sum() / mask.sum()
    return (losses * mask).sum() / tokens


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--micro-batch", type=int, default=8)
    size = parser.parse_args().micro_batch
    dist.init_process_group("gloo")
    torch.manual_seed(4)
    states, teacher = torch.randn(8, 5, 3), torch.randn(8, 5, 6).log_softmax(-1)
    mask = (torch.arange(5)[None] <= torch.arange(8)[:, None] % 5).float()
    student = DistributedDataParallel(torch.nn.Linear(3, 6))
    optimizer = torch.optim.SGD(student.parameters(), lr=0.5)
    for _ in range(3):
        info = {"batch_num_tokens": mask.sum()}
        optimizer.zero_grad()
        for begin in range(0, 8, size):
            rows = slice(begin, begin + size)
            losses = kl_div(student(states[rows]).log_softmax(-1), teacher[rows], log_target=True, reduction="none")
            loss = aggregate(losses.sum(-1), mask[rows], {})
            loss = loss * size / 8
            loss.backward()
        optimizer.step()
    print("result bias", *student.module.bias.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
