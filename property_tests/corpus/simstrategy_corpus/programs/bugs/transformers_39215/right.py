"""Trains on batches with random noise, with a checkpoint of the generators."""

import argparse

import torch
import torch.distributed as dist

STEPS = 6


def batches(first):
    """Yields noisy batches [4] from the step `first` on."""
    for step in range(first, STEPS):
        yield torch.full((4,), float(step)) + torch.randn(4)


def train(checkpoint, stop):
    """Trains from a checkpoint, or from the start where it is None; returns a checkpoint."""
    weight, first = torch.zeros(()), 0
    torch.manual_seed(dist.get_rank())
    if checkpoint:
        weight, first = checkpoint["weight"].clone(), checkpoint["step"]
        torch.set_rng_state(checkpoint["generator"])
    for step, batch in enumerate(batches(first), first):
        gradient = (weight - batch + 0.1 * torch.randn(())).mean()
        dist.all_reduce(gradient)
        weight -= 0.2 * gradient
        if step + 1 == stop:
            return {"weight": weight, "step": stop, "generator": torch.get_rng_state()}
    return {"weight": weight, "step": STEPS, "generator": torch.get_rng_state()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    checkpoint = train(None, stop)
    if stop:
        checkpoint = train(checkpoint, 0)
    if dist.get_rank() == 0:
        print("result weight", checkpoint["weight"].item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
