"""Trains two epochs, with a stop and a new start in between where --stop-after names a step."""

import argparse

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler

SAMPLES, EPOCHS = 16, 2


def skip_first_batches(loader, count):
    """Yields the batches of an epoch without the first ones."""
    for index, batch in enumerate(loader):
        if index >= count:
            yield batch


def train(state, stop):
    """Trains from a state to the step `stop`, or to the end; returns the new state."""
    data = torch.linspace(-1, 1, SAMPLES).square()
    loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, seed=3))
    weight, done = state["weight"].clone(), state["done"]
    for epoch in range(done // len(loader), EPOCHS):
        skipped = done % len(loader)
        loader.sampler.set_epoch(epoch)
        for batch in skip_first_batches(loader, skipped):
            gradient = (weight - batch).mean()
            dist.all_reduce(gradient)
            weight -= 0.2 * gradient
            done += 1
            if done == stop:
                return {"weight": weight, "done": done}
    return {"weight": weight, "done": done}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    state = train({"weight": torch.zeros(()), "done": 0}, stop)
    if stop:
        state = train(state, 0)  # a new start: everything but the state is made again
    if dist.get_rank() == 0:
        print("result weight", state["weight"].item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
