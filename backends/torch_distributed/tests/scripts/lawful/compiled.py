# ranks: 3
"""torch.compile of a model, of its wrapper, of a loss with collectives, and of a method in place."""

import torch
import torch.distributed as dist
from shown import rounded, show
from torch.nn.parallel import DistributedDataParallel

BACKEND = {"backend": "aot_eager"}  # needs no compiler of C++


def model_of(seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Dropout(0.0), torch.nn.Linear(8, 1))


def inside(model):
    return DistributedDataParallel(torch.compile(model, fullgraph=True, **BACKEND))


def outside(model):
    return torch.compile(DistributedDataParallel(model), **BACKEND)


def in_place(model):
    model.compile(**BACKEND)
    return DistributedDataParallel(model)


@torch.compile(**BACKEND)
def loss_of(model, inputs):
    loss = (model(inputs) - inputs.sum(1, keepdim=True)).square().mean()
    largest = loss.detach().clone()
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    return loss, largest


def train(wrapped, rank):
    generator = torch.Generator().manual_seed(rank)
    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    found = []
    for _ in range(3):
        optimizer.zero_grad()
        loss, largest = loss_of(wrapped, torch.randn(4, 6, generator=generator))
        loss.backward()
        optimizer.step()
        found.append([loss, largest])
    return rounded([found, [one.abs().sum() for one in wrapped.parameters()]])


if __name__ == "__main__":
    dist.init_process_group("gloo")
    for wrap in (inside, outside, in_place):
        wrapped = wrap(model_of(5))
        show(wrap.__name__, [list(wrapped.state_dict()), train(wrapped, dist.get_rank())])
    dist.destroy_process_group()
