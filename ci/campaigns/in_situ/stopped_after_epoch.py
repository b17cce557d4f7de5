"""Trains three epochs with torchdata's loader; after --stop-after steps all is made again from a checkpoint."""

import argparse

import torch
import torch.distributed as dist
from torch.utils.data import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

EPOCHS = 3


def train(checkpoint, stop):
    """Trains from a checkpoint to step `stop`, or to the end; returns the next checkpoint."""
    values = torch.linspace(-1, 1, 16).square()
    sampler = DistributedSampler(values, seed=3)
    loader = StatefulDataLoader(values, batch_size=2, sampler=sampler)
    weight, step = torch.zeros(()), 0
    if checkpoint:
        weight, step = checkpoint["weight"].clone(), checkpoint["step"]
        loader.load_state_dict(checkpoint["loader"])
    for epoch in range(step // len(loader), EPOCHS):
        sampler.set_epoch(epoch)
        for batch in loader:
            gradient = (weight - batch).mean()
            dist.all_reduce(gradient)
            weight -= 0.1 * gradient
            step += 1
            if step == stop:
                break
        if step == stop:
            break
    return {"weight": weight, "step": step, "loader": loader.state_dict()}


parser = argparse.ArgumentParser()
parser.add_argument("--stop-after", type=int, default=0)
stop = parser.parse_args().stop_after
dist.init_process_group("gloo")
checkpoint = train(None, stop)
if stop:
    checkpoint = train(checkpoint, 0)
if dist.get_rank() == 0:
    print("result steps", checkpoint["step"])
    print("result weight", checkpoint["weight"].item())
dist.destroy_process_group()
