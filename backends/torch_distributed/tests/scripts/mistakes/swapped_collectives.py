# ranks: 3
"""Rank 2 adds up the loss before the weights are shared, the others after."""

import torch
import torch.distributed as dist


def share_weights(weights):
    dist.broadcast(weights, src=0)  # here 1


def mean_loss(loss):
    dist.all_reduce(loss)  # here 0
    return loss / dist.get_world_size()


dist.init_process_group("gloo")
rank = dist.get_rank()
if rank == 0:
    print("started", flush=True)
weights, loss = torch.full((4,), float(rank)), torch.full((4,), 1.0 + rank)
if rank == 2:
    mean = mean_loss(loss)
    share_weights(weights)
else:
    share_weights(weights)
    mean = mean_loss(loss)
if rank == 0:
    print("result", mean.tolist(), weights.tolist())
dist.destroy_process_group()
