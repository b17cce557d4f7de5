"""Redundancy reduction between two views, with embeddings gathered from all ranks."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class GatherLayer(torch.autograd.Function):
    """Gathers tensors of all ranks, with a backward pass."""

    @staticmethod
    def forward(ctx, tensor):
        gathered = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
        dist.all_gather(gathered, tensor.contiguous())
        return tuple(gathered)

    @staticmethod
    def backward(ctx, *gradients):
        everything = torch.stack(gradients)
        dist.all_reduce(everything)
        return everything[dist.get_rank()]


def redundancy(first, second):
    first, second = (torch.cat(GatherLayer.apply(view)) for view in (first, second))
    first, second = first - first.mean(0), second - second.mean(0)
    correlation = first.T @ second / len(first)
    return (correlation - torch.eye(len(correlation))).square().sum()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(7)
    images = torch.randn(8, 4)
    views = [(images + 0.1 * torch.randn(8, 4)).chunk(world)[rank] for _ in range(2)]
    backbone = DistributedDataParallel(torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(backbone.parameters(), lr=0.1)
    for _ in range(4):
        loss = redundancy(backbone(views[0]), backbone(views[1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        print("result backbone", *backbone.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
