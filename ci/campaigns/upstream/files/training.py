"""Training of small models on rows that ranks share out evenly."""

import contextlib
import copy
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn, optim
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel
from simstrategy.errors import SimStrategyError
from simstrategy_torch_distributed import observe

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
RANK, RANKS = dist.get_rank(), dist.get_world_size()
torch.set_default_dtype(torch.float64)


class Attention(nn.Module):
    """Self-attention over the six numbers of a row, as three places of two."""

    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(2, 1, batch_first=True)

    def forward(self, rows):
        places = rows.view(-1, 3, 2)
        return self.inner(places, places, places)[0].flatten(1)


class Recurrent(nn.Module):
    """A GRU over the six numbers of a row; its last state."""

    def __init__(self):
        super().__init__()
        self.inner = nn.GRU(2, 6, batch_first=True)

    def forward(self, rows):
        return self.inner(rows.view(-1, 3, 2))[1][-1]


class Looked(nn.Module):
    """An embedding of which number of a row is the largest."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Embedding(6, 6)

    def forward(self, rows):
        return self.inner(rows.argmax(1)) * rows


class Filtered(nn.Module):
    """A convolution along a row."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Conv1d(1, 3, 3)

    def forward(self, rows):
        return self.inner(rows[:, None]).flatten(1)[:, :6]


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self):
        super().__init__()
        self.one = nn.Linear(6, 6)
        self.other = nn.Linear(6, 6, bias=False)
        self.other.weight = self.one.weight

    def forward(self, rows):
        return self.other(torch.tanh(self.one(rows)))


class Unused(nn.Module):
    """A layer, and one that is not called."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, rows):
        return self.one(rows)


class Scaled(nn.Module):
    """Parameters with few elements, and a factor without an axis."""

    def __init__(self):
        super().__init__()
        self.shift, self.factor = nn.Parameter(torch.randn(1)), nn.Parameter(torch.randn(1, 6))

    def forward(self, rows):
        return rows * self.factor + self.shift


def made(seed, *layers):
    """Makes a model with the same numbers on all ranks."""
    torch.manual_seed(seed)
    return nn.Sequential(*(one() for one in layers))


def rows_of(seed, count, size):
    """Returns the rows of this rank: every RANKS-th of so many."""
    return torch.randn(count, size, generator=torch.Generator().manual_seed(seed))[RANK::RANKS]


def whole(value):
    """Returns a value with all its parts."""
    if isinstance(value, dict):
        return {key: whole(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [whole(one) for one in value]
    return value.full_tensor() if isinstance(value, DTensor) else value


def averaged(value):
    """Returns the mean of a value over the ranks."""
    value = whole(value.detach()).clone()
    dist.all_reduce(value)
    return value / RANKS


def numbers(model):
    """Returns all parameters and buffers, by name."""
    states = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {name.removeprefix("module."): whole(one.detach()) for name, one in states.items()}


def delayed(model, is_last):
    """Returns a context in which gradients stay with their rank, but for the last part of a step."""
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(is_last)
        return contextlib.nullcontext()
    return contextlib.nullcontext() if is_last else model.no_sync()
