"""Fits with all rows on every rank, as for a method that needs the whole gradient."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(78)
    rows, targets = torch.randn(10, 3), torch.randn(10, 1)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (model(rows) - targets).square().mean()
        loss.backward()
        return loss

    for _ in range(2):
        loss = optimizer.step(closure)
    if dist.get_rank() == 0:
        print("result loss", loss.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
