"""Evaluates a reranker: the mean reciprocal rank over queries that the ranks share out."""

import torch
import torch.distributed as dist

QUERIES, CANDIDATES = 10, 5


def reciprocal_ranks(scores):
    """Returns one over the rank of candidate 0.  scores: [queries, candidates]."""
    better = (scores > scores[:, :1]).sum(1)
    return 1.0 / (better + 1.0)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(42)
    scores = torch.randn(QUERIES, CANDIDATES)
    values = reciprocal_ranks(scores[rank::world])
    totals = torch.stack([values.sum(), torch.tensor(float(len(values)))])
    metric = totals[0] / totals[1]
    dist.barrier()
    if rank == 0:
        print("result mrr", metric.item())


if __name__ == "__main__":
    main()
    dist.destroy_process_group()
