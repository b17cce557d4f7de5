"""Saves and restores the state of a training run."""

import argparse

import torch
import torch.distributed as dist

STEPS = 8


class Loader:
    """Yields batches for ever.  yielded: how many it has yielded."""

    def __init__(self):
        self.yielded = 0

    def state_dict(self):
        return {"yielded": self.yielded}

    def load_state_dict(self, state):
        self.yielded = state["yielded"]

    def __iter__(self):
        while True:
            generator = torch.Generator().manual_seed(100 * self.yielded + dist.get_rank())
            self.yielded += 1
            yield torch.randn(3, generator=generator)


class CheckpointManager:
    """Keeps what it is given."""

    def save(self, step, weight, loader=None):
        self.saved = {"step": step, "weight": weight.clone()}
        if loader is not None:
            self.saved["loader"] = loader.state_dict()


def run(manager, stop, resume=False):
    """Trains up to the step `stop`, from the start or from what was saved."""
    loader, weight, first = Loader(), torch.zeros(3), 0
    if resume:
        weight, first = manager.saved["weight"].clone(), manager.saved["step"]
        if "loader" in manager.saved:
            loader.load_state_dict(manager.saved["loader"])
    for step, batch in zip(range(first, stop), loader):
        gradient = weight - batch
        dist.all_reduce(gradient)
        weight -= 0.1 * gradient
        if step == stop - 1:
            manager.save(step + 1, weight, loader)
    return weight


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    manager = CheckpointManager()
    if stop:
        run(manager, stop)
    weight = run(manager, STEPS, resume=bool(stop))
    if dist.get_rank() == 0:
        print("result weight", *weight.tolist())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
