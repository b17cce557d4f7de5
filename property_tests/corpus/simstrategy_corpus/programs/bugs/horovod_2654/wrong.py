"""A loss on the average of all ranks' embeddings: the all-reduce is a part of the graph."""

import torch
import torch.distributed as dist


class AverageFunction(torch.autograd.Function):
    """All-reduce with op=Average that can be differentiated."""

    @staticmethod
    def forward(ctx, tensor):
        tensor = tensor.clone()
        dist.all_reduce(tensor)
        return tensor / dist.get_world_size()

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(9)
    inputs, target = torch.randn(8, 4), torch.randn(3)
    model = torch.nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        mean = AverageFunction.apply(model(inputs.chunk(world)[rank]).mean(0))
        loss = (mean - target).square().sum()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world
        optimizer.step()
    if rank == 0:
        print("result weight", *model.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
