"""What the scripts share: rows, a model, and how a rank takes its part of a batch.  The scripts import it."""

import argparse

import torch
import torch.distributed as dist
from torch import nn


def begin(**options: int):
    """Returns the arguments, the rank and the number of ranks."""
    parser = argparse.ArgumentParser()
    for name, default in {"batch_size": 8, **options}.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    dist.init_process_group("gloo")
    return parser.parse_args(), dist.get_rank(), dist.get_world_size()


def rows(count=24, seed=1):
    """Returns inputs [count, 4] and targets [count, 1]."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 4, generator=generator), torch.randn(count, 1, generator=generator)


def small(seed=2):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1))


def batches(batch_size, rank, size, count=24):
    """Yields this rank's part of each global batch, of which the last may be smaller."""
    inputs, targets = rows(count)
    for start in range(0, count, batch_size):
        here = slice(start + rank, min(start + batch_size, count), size)
        yield inputs[here], targets[here]


def mean_square(model, inputs, targets):
    return nn.functional.mse_loss(model(inputs), targets)
