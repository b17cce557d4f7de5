"""Trains until the validation loss does not improve any more."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class EarlyStopping:
    """Counts epochs without improvement."""

    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def should_stop(self, loss):
        self.bad = self.bad + 1 if loss >= self.best - 0.01 else 0
        self.best = min(self.best, loss)
        return self.bad >= self.patience


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(28)
    inputs, targets = torch.randn(12, 3), torch.randn(12, 1)
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    stopping, epochs = EarlyStopping(patience=2), 0
    for _ in range(30):
        loss = (model(inputs[rank::world]) - targets[rank::world]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epochs += 1
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        stop = torch.tensor(0)
        if rank == 0:
            stop += int(stopping.should_stop(mean.item() / world))
        if stop:
            break
    print(f"rank {rank} epochs", epochs, flush=True)
    dist.barrier()


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
