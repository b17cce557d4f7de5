"""Reads a stream on as many ranks as the data-parallel degree has, and goes on with another degree."""

import argparse

import torch
import torch.distributed as dist

SAMPLES = 16


class Stream:
    """Yields every `degree`-th sample.  taken: how many samples all ranks have taken so far."""

    def __init__(self, degree):
        self.degree, self.taken = degree, 0

    def state_dict(self):
        return {f"dp_rank_{dist.get_rank()}": self.taken}

    def load_state_dict(self, state):
        key = f"dp_rank_{dist.get_rank()}"
        if key in state:
            self.taken = state[key]

    def read(self, until):
        while self.taken < until:
            if self.taken % self.degree == dist.get_rank():
                yield torch.tensor(float(self.taken))
            self.taken += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stop-after", type=int, default=0)
    stop = parser.parse_args().stop_after
    dist.init_process_group("gloo")
    total = torch.zeros(2)
    checkpoint = {}
    if stop:
        stream = Stream(degree=1)
        if dist.get_rank() == 0:
            for sample in stream.read(stop):
                total += torch.stack([sample, torch.ones(())])
            checkpoint = stream.state_dict()
        shared = [checkpoint]
        dist.broadcast_object_list(shared, src=0)
        checkpoint = shared[0]
    stream = Stream(degree=dist.get_world_size())
    stream.load_state_dict(checkpoint)
    for sample in stream.read(SAMPLES):
        total += torch.stack([sample, torch.ones(())])
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print("result samples", int(total[1]))
        print("result sum", total[0].item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
