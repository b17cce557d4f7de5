"""Batches of utterances up to a total duration, and the objective summed over ranks."""

import torch
import torch.distributed as dist

LONGEST = 8.0


class BucketSampler:
    """Yields batches of durations of this rank, each at most LONGEST seconds in all."""

    def __init__(self, durations):
        rank, world = dist.get_rank(), dist.get_world_size()
        share = len(durations) // world
        self.mine = durations[rank * share : (rank + 1) * share]

    def __iter__(self):
        batch = []
        for duration in self.mine:
            if sum(batch) + duration > LONGEST:
                yield batch
                batch = []
            batch.append(duration)
        yield batch


def main():
    dist.init_process_group("gloo")
    durations = [4.0] * 33
    objective = torch.zeros(1)
    for batch in BucketSampler(durations):
        part = torch.tensor([sum(batch)])
        dist.all_reduce(part)
        objective += part
    print(f"rank {dist.get_rank()} objective", objective.item(), flush=True)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
