"""Optimizer states are partitioned: each parameter has an owner, which receives the reduced gradient."""

import argparse

import torch
import torch.distributed as dist


class PartitionedOptimizer:
    """Steps each parameter on its owner and broadcasts the result.  accumulation: micro-batches of a step."""

    def __init__(self, parameters, accumulation):
        self.parameters, self.accumulation, self.done = list(parameters), accumulation, 0
        self.sums = [torch.zeros_like(parameter) for parameter in self.parameters]

    def backward(self, loss):
        gradients = torch.autograd.grad(loss / self.accumulation, self.parameters)
        self.done += 1
        for index, gradient in enumerate(gradients):
            self.sums[index] = self.sums[index] + gradient
        if self.done % self.accumulation == 0:
            self.step()

    def step(self):
        for index, (parameter, total) in enumerate(zip(self.parameters, self.sums, strict=True)):
            owner = index % dist.get_world_size()
            dist.reduce(total, dst=owner)
            with torch.no_grad():
                parameter -= 0.1 * total / dist.get_world_size()
            dist.broadcast(parameter.data, src=owner)
        self.sums = [torch.zeros_like(parameter) for parameter in self.parameters]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation", type=int, default=1)
    accumulation = parser.parse_args().accumulation
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(49)
    inputs, targets = torch.randn(12, 3)[rank::world], torch.randn(12, 1)[rank::world]
    model = torch.nn.Linear(3, 1)
    optimizer = PartitionedOptimizer(model.parameters(), accumulation)
    for _ in range(3):
        for rows, wanted in zip(inputs.chunk(accumulation), targets.chunk(accumulation), strict=True):
            optimizer.backward((model(rows) - wanted).square().mean())
    if rank == 0:
        print("result weight", *model.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
