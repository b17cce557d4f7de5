"""A linear layer split over tensor-parallel ranks, behind a layer norm that all ranks hold."""

import torch
import torch.distributed as dist

LIMIT = 0.1


class SumOfParts(torch.autograd.Function):
    """Adds the ranks' parts of a result; the gradient goes to each part."""

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
    torch.manual_seed(14)
    inputs, targets = torch.randn(6, 8), 3 * torch.randn(6, 8)
    norm = torch.nn.LayerNorm(8)
    part = torch.randn(8, 8).chunk(world, 0)[rank].clone().requires_grad_()  # rows of the weight
    optimizer = torch.optim.SGD([*norm.parameters(), part], lr=0.1)
    for _ in range(3):
        hidden = norm(inputs).chunk(world, 1)[rank]
        loss = (SumOfParts.apply(hidden @ part) - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in norm.parameters():
            dist.all_reduce(parameter.grad)
        total = part.grad.square().sum()
        dist.all_reduce(total)
        total = (total + sum(one.grad.square().sum() for one in norm.parameters())).sqrt()
        if total > LIMIT:
            for parameter in (*norm.parameters(), part):
                parameter.grad *= LIMIT / total
        optimizer.step()
    print(f"rank {rank} norm", *norm.weight.tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
