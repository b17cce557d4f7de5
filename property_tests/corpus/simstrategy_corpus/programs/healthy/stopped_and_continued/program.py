"""Trains on noisy batches, with a stop in between where --stop-after names a step."""

import argparse

import torch
import torch.distributed as dist

STEPS = 8


def train(checkpoint, stop):
    """Trains from a checkpoint up to the step `stop`; returns a checkpoint."""
    torch.manual_seed(dist.get_rank())
    weight, first = torch.zeros(3), 0
    if checkpoint:
        weight, first = checkpoint["weight"].clone(), checkpoint["step"]
        torch.set_rng_state(checkpoint["generator"])
    for _ in range(first, stop):
        gradient = weight - torch.randn(3)
        dist.all_reduce(gradient)
        weight -= 0.1 * gradient / dist.get_world_size()
    return {"weight": weight, "step": stop, "generator": torch.get_rng_state()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    checkpoint = train(None, stop) if stop else None
    checkpoint = train(checkpoint, STEPS)
    if dist.get_rank() == 0:
        print("result weight", *checkpoint["weight"].tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
