"""Post-local SGD: an optimizer that averages the parameters after its step."""

import torch
import torch.distributed as dist


class PostLocalOptimizer:
    """Steps, and averages the parameters over all ranks."""

    def __init__(self, optimizer, parameters):
        self.optimizer, self.parameters = optimizer, list(parameters)

    def average(self):
        for parameter in self.parameters:
            dist.all_reduce(parameter.data)
            parameter.data /= dist.get_world_size()

    def step(self):
        self.optimizer.step()
        self.average()


class Scaler:
    """Skips the step of an optimizer whose gradients are not finite, as mixed precision does."""

    def step(self, optimizer):
        if all(parameter.grad.isfinite().all() for parameter in optimizer.parameters):
            optimizer.step()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(20)
    model = torch.nn.Linear(3, 1)
    optimizer = PostLocalOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), model.parameters())
    batches = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(rank))
    if rank == 1:
        batches[2, 0, 0] = torch.inf
    for batch in batches:
        model.zero_grad()
        model(batch).square().mean().backward()
        Scaler().step(optimizer)
    print(f"rank {rank} weight", *model.weight.flatten().tolist(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
