"""Experts that some ranks' tokens do not reach; gradients are reduced one by one."""

import torch
import torch.distributed as dist


def reduce_gradients(parameters):
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(27)
    experts = torch.nn.ModuleList(torch.nn.Linear(2, 2, bias=False) for _ in range(3))
    tokens = torch.randn(6, 2, generator=torch.Generator().manual_seed(rank))
    route = torch.arange(6) % 3 if rank == 0 else torch.arange(6) % 2
    optimizer = torch.optim.SGD(experts.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        for number, expert in enumerate(experts):
            if (route == number).any():
                expert(tokens[route == number]).square().sum().backward()
        reduce_gradients(experts.parameters())
        optimizer.step()
    for number, expert in enumerate(experts):
        print(f"rank {rank} expert{number}", *expert.weight.flatten().tolist(), flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
