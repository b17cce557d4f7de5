"""A loader that can be stopped and continued, over three epochs."""

import argparse

import torch
import torch.distributed as dist

EPOCHS, BATCHES = 3, 4


class StatefulLoader:
    """Yields batches [2] of this rank, and can continue within an epoch."""

    def __init__(self):
        self.position = 0

    def __iter__(self):
        while self.position < BATCHES:
            self.position += 1
            generator = torch.Generator().manual_seed(self.position * 10 + dist.get_rank())
            yield torch.randn(2, generator=generator)
        self.position = 0


def train(state, stop):
    """Trains from a state; stops after `stop` steps where that is not 0."""
    loader, weight, step = StatefulLoader(), state["weight"].clone(), state["step"]
    loader.position = state["position"]
    for _ in range(step // BATCHES, EPOCHS):
        for batch in loader:
            gradient = (weight - batch).mean()
            dist.all_reduce(gradient)
            weight -= 0.1 * gradient
            step += 1
            if step == stop:
                return {"weight": weight, "step": step, "position": loader.position}
    return {"weight": weight, "step": step, "position": loader.position}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    state = train({"weight": torch.zeros(()), "step": 0, "position": 0}, stop)
    if stop:
        state = train(state, 0)  # as a new process would
    if dist.get_rank() == 0:
        print("result steps", state["step"])
        print("result weight", state["weight"].item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
