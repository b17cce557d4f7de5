"""Gathers predictions of all ranks for a metric of the whole set."""

import torch
import torch.distributed as dist

SAMPLES = 11


def gathered(values):
    """Returns the values of all ranks in one tensor."""
    count = torch.tensor([len(values)])
    counts = [torch.zeros_like(count) for _ in range(dist.get_world_size())]
    dist.all_gather(counts, count)
    longest = int(max(counts))
    pieces = [torch.zeros(longest) for _ in counts]
    dist.all_gather(pieces, torch.nn.functional.pad(values, (0, longest - len(values))))
    return torch.cat([piece[:length] for piece, length in zip(pieces, counts, strict=True)])


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(47)
    predictions = gathered(torch.rand(SAMPLES)[rank::world].contiguous())
    dist.barrier()
    if rank == 0:
        print("result largest", predictions.max().item())
        print("result samples", len(predictions))


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
