"""An engine that keeps accumulated gradients in float32 beside the parameters."""

import argparse

import torch
import torch.distributed as dist


class Engine:
    """Accumulates, reduces and steps.  steps: micro-batches of each step of the optimizer."""

    def __init__(self, model, steps):
        self.model, self.steps, self.done = model, steps, 0
        self.sums = [torch.zeros_like(parameter) for parameter in model.parameters()]
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def accumulate(self):
        for total, parameter in zip(self.sums, self.model.parameters(), strict=True):
            total += parameter.grad
            parameter.grad = None

    def reduce(self):
        for total in self.sums:
            dist.all_reduce(total)
            total /= dist.get_world_size()

    def backward(self, loss):
        (loss / self.steps).backward()
        self.done += 1
        self.accumulate()
        if self.done % self.steps == 0:
            self.reduce()

    def step(self):
        for total, parameter in zip(self.sums, self.model.parameters(), strict=True):
            parameter.grad = total.clone()
            total.zero_()
        self.optimizer.step()
        self.optimizer.zero_grad()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=1)
    steps = parser.parse_args().accumulate
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(12)
    inputs, targets = torch.randn(12, 3).chunk(world)[rank], torch.randn(12, 1).chunk(world)[rank]
    engine = Engine(torch.nn.Linear(3, 1), steps)
    for _ in range(3):
        for rows, wanted in zip(inputs.chunk(steps), targets.chunk(steps), strict=True):
            engine.backward((engine.model(rows) - wanted).square().mean())
        engine.step()
    print(f"rank {rank} weight", *engine.model.weight.flatten().tolist(), flush=True)
    if rank == 0:
        print("result weight", *engine.model.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
