"""A trainer whose model divides the loss by the number of items of the whole batch."""

import argparse

import torch
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    """Runs the training loop.  accumulation: micro-batches for each step of the optimizer."""

    def __init__(self, model, accumulation):
        self.model = model
        self.accumulation = accumulation
        self.model_accepts_loss_kwargs = True
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def compute_loss(self, inputs, num_items_in_batch=None):
        features, targets = inputs
        outputs = self.model(features).squeeze(1)
        if num_items_in_batch is None:
            return mse_loss(outputs, targets)
        return mse_loss(outputs, targets, reduction="sum") / num_items_in_batch

    def training_step(self, inputs, num_items_in_batch=None):
        loss = self.compute_loss(inputs, num_items_in_batch)
        if not self.model_accepts_loss_kwargs:
            loss = loss / self.accumulation
        loss.backward()
        return loss.detach()

    def train(self, batches):
        for features, targets in batches:
            pieces = list(zip(features.chunk(self.accumulation), targets.chunk(self.accumulation), strict=True))
            num_items = sum(len(piece[1]) for piece in pieces)
            loss = sum(self.training_step(piece, num_items) for piece in pieces)
            self.optimizer.step()
            self.optimizer.zero_grad()
            print("result loss", loss.item())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gradient-accumulation-steps", type=int, default=1)
    arguments = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(1)
    batches = [(torch.randn(8, 3), torch.randn(8)) for _ in range(3)]
    model = DistributedDataParallel(torch.nn.Linear(3, 1))
    Trainer(model, arguments.gradient_accumulation_steps).train(batches)
    print("result weight", *model.module.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
