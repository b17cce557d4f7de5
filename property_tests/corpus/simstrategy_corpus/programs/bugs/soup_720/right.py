"""A preference trainer built upon a base trainer that divides losses by items."""

import argparse
import inspect

import torch
import torch.distributed as dist
from torch.nn.functional import logsigmoid


class BaseTrainer:
    """Divides by the accumulation steps, unless the loss divides by the items of the whole batch."""

    def __init__(self, model, steps):
        self.model, self.steps = model, steps
        self.loss_takes_items = "num_items_in_batch" in inspect.signature(self.compute_loss).parameters

    def train_batch(self, chosen, rejected):
        for pair in zip(chosen.chunk(self.steps), rejected.chunk(self.steps), strict=True):
            loss = self.compute_loss(pair, num_items_in_batch=len(chosen))
            (loss if self.loss_takes_items else loss / self.steps).backward()
        for parameter in self.model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()


class PreferenceTrainer(BaseTrainer):
    """Prefers the chosen answer to the rejected one."""

    def compute_loss(self, pair, num_items_in_batch=None):
        margin = self.model(pair[0]) - self.model(pair[1])
        return -logsigmoid(margin).sum() / num_items_in_batch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulate", type=int, default=1)
    steps = parser.parse_args().accumulate
    dist.init_process_group("gloo")
    torch.manual_seed(6)
    chosen, rejected = torch.randn(8, 4) + 0.5, torch.randn(8, 4)
    model = torch.nn.Linear(4, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(3):
        optimizer.zero_grad()
        PreferenceTrainer(model, steps).train_batch(chosen, rejected)
        optimizer.step()
    print("result reward", *model.weight.flatten().tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
