"""Logs metrics by name; each is reduced over the ranks at the end of the epoch."""

import torch
import torch.distributed as dist


class ResultCollection:
    """Sums and counts of logged metrics, in the order of the first log."""

    def __init__(self):
        self.totals = {}

    def log(self, name, value):
        self.totals[name] = self.totals.get(name, torch.zeros(2)) + torch.tensor([value, 1.0])

    def reduced(self):
        names = [list(self.totals)]
        names = [None] * dist.get_world_size()
        dist.all_gather_object(names, sorted(self.totals))
        for name in dict.fromkeys(name for part in names for name in part):
            total = self.totals.get(name, torch.zeros(2)).clone()
            dist.all_reduce(total)
            yield name, (total[0] / total[1]).item()


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    results = ResultCollection()
    for step in range(4):
        kind = "loss_image" if (step + rank) % 2 else "loss_text"  # the batches of a rank alternate
        results.log(kind, 1.0 if kind == "loss_image" else 5.0)
    for name, value in sorted(results.reduced()):
        if rank == 0:
            print("result", name, value)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
