"""Gathers predictions, and drops what fills up the last batch."""

import argparse

import torch
import torch.distributed as dist

SAMPLES = 12


class Gatherer:
    """Gathers the results of evenly filled batches.  total: rows of all ranks' batches together."""

    def __init__(self, samples, total):
        self.remainder = samples % total
        self.last = (samples - 1) // total

    def gather_for_metrics(self, step, rows):
        pieces = [torch.empty_like(rows) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, rows)
        data = torch.cat(pieces)
        if step == self.last and self.remainder:
            return data[: self.remainder]
        return data


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2, help="rows of each rank")
    batch = parser.parse_args().batch
    dist.init_process_group("gloo")
    rank, total = dist.get_rank(), batch * dist.get_world_size()
    values = torch.arange(float(SAMPLES)).square()
    gatherer, found = Gatherer(SAMPLES, total), []
    for step, begin in enumerate(range(0, SAMPLES, total)):
        order = [index % SAMPLES for index in range(begin, begin + total)]
        found.append(gatherer.gather_for_metrics(step, values[order][rank * batch : (rank + 1) * batch]))
    if rank == 0:
        print("result count", len(torch.cat(found)))
        print("result mean", torch.cat(found).mean().item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
