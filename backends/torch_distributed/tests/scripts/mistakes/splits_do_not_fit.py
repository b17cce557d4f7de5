# ranks: 2
"""Rank 1 expects two rows of rank 0, which sends three."""

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
to_experts = [[1, 3], [2, 2]][rank]
from_ranks = [[1, 2], [2, 2]][rank]  # rank 1 expects two rows of rank 0, which sends three
tokens = torch.arange(4.0) + 10 * rank
received = torch.empty(sum(from_ranks))
dist.all_to_all_single(received, tokens, from_ranks, to_experts)  # here 0
print("result", received.tolist())
dist.destroy_process_group()
