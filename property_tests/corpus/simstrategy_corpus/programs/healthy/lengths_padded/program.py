"""Gathers the predictions of 11 samples from all ranks."""

import torch
import torch.distributed as dist

SAMPLES = 11


def gathered(values):
    """Returns the values of all ranks, in the order of the ranks."""
    counts = [torch.zeros(1, dtype=torch.int64) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, torch.tensor([len(values)]))
    longest = int(max(counts))
    pieces = [torch.zeros(longest) for _ in counts]
    dist.all_gather(pieces, torch.nn.functional.pad(values, (0, longest - len(values))))
    return torch.cat([piece[: int(count)] for piece, count in zip(pieces, counts, strict=True)])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(69)
    everything = gathered(torch.rand(SAMPLES)[rank::world].contiguous())
    if rank == 0:
        print("result samples", len(everything))
        print("result median", everything.median().item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
