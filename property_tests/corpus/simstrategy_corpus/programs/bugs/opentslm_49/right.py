"""Trains stages of a curriculum with losses that the model computes itself."""

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class TimeSeriesModel(torch.nn.Module):
    """Maps series [rows, 4] to answers."""

    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(4, 2)

    def forward(self, series, answers):
        return (self.head(series).tanh() - answers).abs().mean()

    def compute_loss(self, series, answers):
        return self.forward(series, answers)


class Trainer:
    """Holds the model, wrapped where there are several processes."""

    def __init__(self, model):
        self.model = DistributedDataParallel(model) if dist.is_initialized() else model

    def get_model(self):
        return self.model.module if isinstance(self.model, DistributedDataParallel) else self.model

    def train_stage(self, series, answers):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.3)
        for _ in range(4):
            loss = self.model(series, answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(55)
    series, answers = torch.randn(12, 4), torch.rand(12, 2)
    trainer = Trainer(TimeSeriesModel())
    trainer.train_stage(series[rank::world], answers[rank::world])
    weight = trainer.get_model().head.weight.flatten().tolist()
    print(f"rank {rank} weight", *weight, flush=True)
    if rank == 0:
        print("result weight", *weight)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
