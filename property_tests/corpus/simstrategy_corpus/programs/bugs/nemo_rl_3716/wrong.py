"""Attention heads are split over tensor-parallel ranks; the norm of queries is replicated."""

import torch
import torch.distributed as dist

HEADS, SIZE = 4, 3


class SumOverRanks(torch.autograd.Function):
    """Adds the ranks' parts of a result."""

    @staticmethod
    def forward(ctx, part):
        part = part.clone()
        dist.all_reduce(part)
        return part

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def finish_grad_sync(replicated):
    """Makes gradients of replicated parameters equal.  replicated: those that all ranks hold."""
    for parameter in replicated:
        parameter.grad = parameter.grad.contiguous()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(56)
    queries, targets = torch.randn(6, HEADS, SIZE), torch.randn(6, SIZE)
    scale = torch.nn.Parameter(torch.ones(SIZE))
    optimizer = torch.optim.SGD([scale], lr=0.2)
    mine = queries.chunk(world, 1)[rank]
    for _ in range(3):
        partial = (mine * scale).tanh().sum(1)
        loss = (SumOverRanks.apply(partial) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        finish_grad_sync([scale])
        optimizer.step()
    print(f"rank {rank} scale", *scale.tolist(), flush=True)
    if rank == 0:
        print("result scale", *scale.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
