"""Fits an energy with a distributed optimizer that averages gradients when it computes them."""

import torch
import torch.distributed as dist


class DistributedOptimizer:
    """Wraps an optimizer; `compute_gradients` averages over all workers."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    def compute_gradients(self, loss, parameters):
        gradients = torch.autograd.grad(loss, parameters)
        for gradient in gradients:
            dist.all_reduce(gradient)
            gradient /= dist.get_world_size()
        return gradients

    def apply_gradients(self, gradients, parameters):
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        self.optimizer.step()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(10)
    coordinates, energies = torch.randn(12, 3), torch.randn(12, 1)
    mine = slice(rank, None, world)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    parameters = list(model.parameters())
    optimizer = DistributedOptimizer(torch.optim.SGD(parameters, lr=0.1))
    for _ in range(4):
        loss = (model(coordinates[mine]) - energies[mine]).square().mean()
        gradients = torch.autograd.grad(loss, parameters)
        optimizer.apply_gradients(gradients, parameters)
    print(f"rank {rank} head", *parameters[2].flatten().tolist(), flush=True)
    if rank == 0:
        print("result head", *parameters[2].flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
