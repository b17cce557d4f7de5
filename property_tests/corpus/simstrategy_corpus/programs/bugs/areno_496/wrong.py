"""A replicated projection before a split one; the boundary between them reduces gradients."""

import torch
import torch.distributed as dist

WIDTH = 8


class CopyToRanks(torch.autograd.Function):
    """Hands a replicated value to all ranks; their gradients for it are added."""

    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


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


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(57)
    hidden, targets = torch.randn(6, 3), torch.randn(6)
    query_a = torch.nn.Parameter(torch.randn(3, 4))
    query_b = torch.randn(4, WIDTH).chunk(world, 1)[rank]
    optimizer = torch.optim.SGD([query_a], lr=0.05)
    for _ in range(3):
        compressed = CopyToRanks.apply(hidden @ query_a)
        outputs = SumOverRanks.apply((compressed @ query_b).tanh().sum(1))
        loss = (outputs - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        dist.all_reduce(query_a.grad)
        optimizer.step()
    if rank == 0:
        print("result query", *query_a.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
